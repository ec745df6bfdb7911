/** The types of the Python client: a model of each answer, which takes more than it knows, and a dictionary of each request, which does not. */

import { answerOf, bodyOf, ENDPOINTS, isNever, nameOf, type Operation, resolved, type Schema } from "./api-document.ts"
import { ANSWER_CLASSES, DOCUMENT_MEMBERS, DOCUMENTS, MERGED_ANSWERS, NESTED_NAMES, SECRETS } from "./columns.ts"

/** Answers are lenient: a later service may have further texts where this one lists them all. */
export type Mode = "answer" | "request"
type Members = Readonly<Record<string, Schema>>

const PYTHON_KEYWORDS: ReadonlySet<string> = new Set(["from", "with"])
/** A name of the wire in Python: a keyword gets an underscore, as PEP 8 says. */
export const pythonName = (name: string): string => (PYTHON_KEYWORDS.has(name) ? `${name}_` : name)

const DOCUMENT = "Document"
const LEAVES: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
}

export type PythonTypes = {
  /** The type of a value. `place` names an object that has no name of its own: `Class.member`. */
  readonly typeOf: (schema: Schema, place: string) => string
  /** The text of all classes that were asked for. */
  readonly classes: () => string
}

/** Classes are written in the order in which their types were asked for, each once and behind those that it is made of. */
export function pythonTypes(mode: Mode, prefix = ""): PythonTypes {
  /** By name: what it was made of, and its text. */
  const made = new Map<string, { readonly origin: string; text: string }>()
  const answers = mode === "answer"
  const about = placesOf(mode)

  const classOf = (name: string, schemas: readonly Schema[]): string => {
    const origin = JSON.stringify(schemas)
    const known = made.get(name)
    if (known !== undefined && known.origin !== origin)
      throw new Error(`Two schemas would be the class ${name}: name one in columns.ts.`)
    if (known === undefined) {
      const entry = { origin, text: "" }
      made.set(name, entry)
      const { members, required } = mergedMembers(schemas)
      // An `ok` that is always true says nothing.
      const shown = Object.entries(members).filter(([member, schema]) => member !== "ok" || schema.const !== true)
      const lines = shown.map(([member, schema]) => {
        const type = answers && DOCUMENT_MEMBERS.has(member) ? DOCUMENT : inside(schema, `${name}.${member}`)
        return answers ? answerMember(name, member, type, required.has(member)) : requestMember(member, type, required)
      })
      const head = answers ? `class ${name}(Answer):` : `class ${name}(TypedDict, total=False):`
      entry.text = [head, ...(about.get(name) ?? []), ...lines].join("\n    ")
      // Behind the classes that its members have made.
      made.delete(name)
      made.set(name, entry)
    }
    return name
  }

  const inside = (schema: Schema, place: string): string => {
    const reference = nameOf(schema)
    if (reference !== undefined) return referenceType(reference, schema)
    const { anyOf, oneOf, type, items, properties, additionalProperties, const: constant } = schema
    if (schema.enum !== undefined) return listed(schema.enum, answers)
    if (constant !== undefined)
      return typeof constant === "string" ? listed([constant], answers) : constantType(constant)
    if (Array.isArray(type)) return union(type.map(each => inside({ ...schema, type: each }, place)))
    if (type === "array")
      return `${answers ? "list" : "Sequence"}[${items === undefined ? "Any" : inside(items, place)}]`
    const mapping = answers ? "dict" : "Mapping"
    if (named(properties)) return classOf(nestedName(place), [schema])
    if (type === "object")
      return `${mapping}[str, ${additionalProperties ? inside(additionalProperties, place) : "Any"}]`
    const leaf = typeof type === "string" ? LEAVES[type] : undefined
    if (leaf !== undefined) return leaf
    const alternatives = anyOf ?? oneOf
    if (alternatives === undefined) return "Any"
    const anyText = alternatives.some(each => each.type === "string" && each.enum === undefined)
    // A request leaves out what is null. Without None a type checker names the member of an object that is misspelt.
    const leavesOut = !answers && alternatives.some(each => named((each.items ?? each).properties))
    const possible = alternatives.filter(
      each => !(anyText && each.const === "") && !(leavesOut && each.type === "null"),
    )
    return union(possible.map(each => inside(each, place)))
  }

  const referenceType = (reference: string, schema: Schema): string => {
    if (DOCUMENTS.has(reference)) return answers ? DOCUMENT : "Mapping[str, Any]"
    const name = ANSWER_CLASSES[reference] ?? reference
    const merged = MERGED_ANSWERS[name]
    return classOf(name, merged === undefined ? [resolved(schema)] : merged.map(each => resolved({ $ref: `/${each}` })))
  }

  return {
    typeOf: (schema, place) => qualified(inside(schema, place), prefix, made),
    classes: () => [...made.values()].map(({ text }) => text).join("\n\n\n"),
  }
}

/** A type as another module writes it, with the prefix of the module that has its class. */
function qualified(type: string, prefix: string, made: ReadonlyMap<string, unknown>): string {
  return prefix === "" ? type : type.replaceAll(/"[^"]*"|\w+/g, word => (made.has(word) ? prefix + word : word))
}

/** A sentence on each class that is a whole message: of which endpoint. */
function placesOf(mode: Mode): ReadonlyMap<string, readonly string[]> {
  const places = new Map<string, string[]>()
  for (const { method, path, operation } of ENDPOINTS) {
    const schema = mode === "request" ? bodyOf(operation) : answersOf(operation)
    const name = schema && nameOf(schema)
    if (name === undefined) continue
    const known = places.get(ANSWER_CLASSES[name] ?? name)
    if (known === undefined) places.set(ANSWER_CLASSES[name] ?? name, [`${method} ${path}`])
    else known.push(`${method} ${path}`)
  }
  const says = (all: readonly string[]): string => {
    const list = [all.slice(0, -1).join(", "), all.at(-1)].filter(Boolean).join(" and ")
    return `"""${mode === "request" ? `The body of ${list}` : `The answer of ${list}`}."""\n`
  }
  return new Map([...places].map(([name, all]) => [name, [says(all)]]))
}

const answersOf = (operation: Operation): Schema | undefined =>
  Object.keys(operation.responses).some(status => status.startsWith("20")) ? answerOf(operation).schema : undefined

const named = (properties: Schema["properties"]): boolean =>
  Object.values(properties ?? {}).some(schema => schema !== false)

function nestedName(place: string): string {
  const found = NESTED_NAMES[place] ?? NESTED_NAMES[place.slice(place.indexOf(".") + 1)]
  if (found === undefined) throw new Error(`The object ${place} has no name: give it one in columns.ts.`)
  return found
}

const union = (types: readonly string[]): string =>
  types.includes("Any")
    ? "Any"
    : [...new Set(types)].sort((a, b) => Number(a === "None") - Number(b === "None")).join(" | ")
const listed = (texts: readonly string[], lenient: boolean): string =>
  `Literal[${texts.map(text => JSON.stringify(text)).join(", ")}]${lenient ? " | str" : ""}`
const constantType = (constant: number | boolean): string => (typeof constant === "boolean" ? "bool" : "int")

/** The members of an object, or of several that are read as one: required are those of each. */
function mergedMembers(schemas: readonly Schema[]): {
  readonly members: Members
  readonly required: ReadonlySet<string>
} {
  const objects = schemas.flatMap(objectsOf)
  const members: Record<string, Schema> = {}
  for (const { properties = {} } of objects)
    for (const [name, schema] of Object.entries(properties))
      if (schema !== false && !isNever(schema)) members[name] = bothOf(members[name], schema)
  const required = Object.keys(members).filter(name => objects.every(each => each.required?.includes(name)))
  return { members, required: new Set(required) }
}

/** The alternatives of a schema that are objects, or itself. */
function objectsOf(schema: Schema): readonly Schema[] {
  const { properties, anyOf, oneOf } = resolved(schema)
  if (properties !== undefined) return [resolved(schema)]
  return (anyOf ?? oneOf ?? []).flatMap(objectsOf)
}

function bothOf(one: Schema | undefined, other: Schema): Schema {
  if (one === undefined || JSON.stringify(one) === JSON.stringify(other)) return other
  const texts = [...textsOf(one), ...textsOf(other)]
  return texts.length > 1 ? { type: "string", enum: [...new Set(texts)] } : { anyOf: [one, other] }
}
const textsOf = (schema: Schema): readonly string[] =>
  schema.enum ?? (typeof schema.const === "string" ? [schema.const] : [])

function answerMember(owner: string, member: string, type: string, required: boolean): string {
  const name = pythonName(member)
  const optional = required || type === "Any" || type.endsWith("| None") ? type : `${type} | None`
  const facts = [
    ...(required ? [] : ["default=None"]),
    ...(name === member ? [] : [`alias="${member}"`]),
    ...(SECRETS[owner]?.includes(member) ? ["repr=False"] : []),
  ]
  if (facts.length === 0) return `${name}: ${optional}`
  return `${name}: ${optional} = ${facts.join() === "default=None" ? "None" : `Field(${facts.join(", ")})`}`
}

function requestMember(member: string, type: string, required: ReadonlySet<string>): string {
  return `${member}: ${required.has(member) ? `Required[${type}]` : type}`
}
