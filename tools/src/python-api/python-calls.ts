/** The calls of the Python client: what each takes, what it sends, and the methods of both clients. */

import { ENDPOINTS as ROWS } from "@runseal/api/endpoints"
import {
  answerOf,
  bodyOf,
  ENDPOINTS,
  type Endpoint,
  nameOf,
  type Parameter,
  resolved,
  type Schema,
} from "./api-document.ts"
import { DOCUMENTS, HEADER_ARGUMENTS, IDEMPOTENCY_KEYS, METHOD_NAMES, NO_METHOD, WHOLE_REQUESTS } from "./columns.ts"
import { type PythonTypes, pythonName, pythonTypes } from "./python-types.ts"

type Argument = { readonly name: string; readonly type: string; readonly value?: string }
/** A method, as the two clients and the function that makes its call have it. */
type Method = {
  readonly name: string
  readonly about: string
  /** By place or by name; then those by name alone. */
  readonly leading: readonly Argument[]
  readonly named: readonly Argument[]
  readonly answer: string
  /** The arguments of its `Call`. */
  readonly call: readonly string[]
  /** Of a list by pages: the member of a page with the items, that which tells one from another, and the type of one. */
  readonly pages?: { readonly member: string; readonly key: string; readonly item: string }
  readonly lines: boolean
  readonly whole: string
}

export type PythonFiles = {
  readonly answers: string
  readonly requests: string
  readonly calls: string
  readonly operations: string
}

export function pythonFiles(): PythonFiles {
  const answers = pythonTypes("answer", "a.")
  const requests = pythonTypes("request", "r.")
  const methods = withArtifacts(ENDPOINTS)
    .filter(({ operation }) => NO_METHOD[operation.operationId] === undefined)
    .map(endpoint => methodOf(endpoint, answers, requests))
  return {
    answers: answers.classes(),
    requests: requests.classes(),
    calls: methods.map(makerText).join("\n\n\n"),
    operations: `${clientText(methods, false)}\n\n\n${clientText(methods, true)}`,
  }
}

const BYTES = "application/octet-stream"
const ARTIFACT = /^(.*\/runs\/\{id\})\/(allow-token|[\w-]+-receipt)$/
/** The endpoints, those of a run's artifacts as one with the name of the artifact as a parameter. */
function withArtifacts(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const names = new Map<string, string[]>()
  const found: Endpoint[] = []
  for (const endpoint of endpoints) {
    const [, place, name] = ARTIFACT.exec(endpoint.path) ?? []
    if (place === undefined || name === undefined) found.push(endpoint)
    else if (names.has(place)) names.get(place)?.push(name)
    else {
      const all = [name]
      names.set(place, all)
      const parameter: Parameter = { name: "name", in: "path", required: true, schema: { type: "string", enum: all } }
      const operation = {
        ...endpoint.operation,
        operationId: place.startsWith("/admin") ? "admin_artifact" : "artifact",
        summary: "The token or receipt of a run, which verifies by itself",
        description: "Not found where the run ended otherwise.",
        parameters: [...(endpoint.operation.parameters ?? []), parameter],
        responses: { 200: { content: { [BYTES]: {} } } },
      }
      found.push({ ...endpoint, path: `${place}/{name}`, operation })
    }
  }
  return found
}

function methodOf({ method, path, operation }: Endpoint, answers: PythonTypes, requests: PythonTypes): Method {
  const { operationId: id, summary, description, parameters = [] } = operation
  const answer = answerOf(operation)
  const answerName = answer.schema === undefined ? undefined : nameOf(answer.schema)
  if (answer.type === "application/json" && answer.schema !== undefined && answerName === undefined)
    throw new Error(`the answer of ${id} has no name in libs/api/src/openapi/components.ts`)
  const bytes = answer.schema === undefined || answerName === undefined || DOCUMENTS.has(answerName)
  const body = bodyArguments(bodyOf(operation), requests)
  const query = parameters.filter(each => each.in === "query")
  const keyed = parameters.some(each => each.name === "Idempotency-Key")
  const header = HEADER_ARGUMENTS[id]
  const answerType = bytes ? "bytes" : answers.typeOf(answer.schema ?? {}, "")
  const asPage = path === "/" ? ['headers={"Accept": "application/json"}'] : []
  return {
    name: METHOD_NAMES[id] ?? id,
    about: [summary, ...(description === undefined ? [] : [description])].map(sentence).join(" "),
    leading: [
      ...parameters.filter(each => each.in === "path").map(each => pathArgument(path, each, requests)),
      ...body.leading,
      ...query.filter(each => each.required).map(each => queryArgument(each, requests)),
      ...(header === undefined ? [] : [{ name: header.name, type: "str" }]),
      ...(keyed && body.whole !== "" ? [IDEMPOTENCY_KEY] : []),
    ],
    named: [
      ...query.filter(each => !each.required).map(each => queryArgument(each, requests)),
      ...body.named,
      ...(keyed && body.whole === "" ? [IDEMPOTENCY_KEY] : []),
      ...body.extra,
    ],
    answer: answerType,
    call: [
      JSON.stringify(method),
      pathText(path, parameters),
      answerType,
      ...body.call,
      ...(query.length === 0 ? [] : [`query=given(${dictionary(query.map(({ name }) => name))})`]),
      ...(ROWS.find(row => row.id === id)?.end_user === "decides" ? ["end_user=True"] : []),
      ...(keyed ? [`idempotency_key=${keyText(IDEMPOTENCY_KEYS[id])}`] : []),
      ...(header === undefined ? [] : [`headers={"${header.header}": ${header.name}}`]),
      ...asPage,
      ...(ROWS.find(row => row.id === id)?.repeatable === true ? ["again=True"] : []),
    ],
    ...pagesOf(query, answer.schema, answers),
    lines: answer.type === "application/x-ndjson",
    whole: body.whole,
  }
}

const sentence = (text: string): string => (text.endsWith(".") ? text : `${text}.`)
const keyText = (otherwise: string | undefined): string =>
  otherwise === undefined ? "idempotency_key" : `idempotency_key or ${otherwise}`
const dictionary = (names: readonly string[]): string =>
  `{${names.map(name => `"${name}": ${pythonName(name)}`).join(", ")}}`

const OWNERS: Readonly<Record<string, string>> = {
  runs: "run_id",
  permits: "permit_id",
  approvals: "approval_id",
  keys: "key_id",
  shares: "share_id",
  destinations: "destination_id",
}
/** `{id}` is named after what it is the id of. */
function pathName(path: string, name: string): string {
  const owner =
    path
      .slice(0, path.indexOf(`/{${name}}`))
      .split("/")
      .at(-1) ?? ""
  return name === "id" ? (OWNERS[owner] ?? name) : name
}
const pathArgument = (path: string, { name, schema }: Parameter, types: PythonTypes): Argument => ({
  name: pathName(path, name),
  type: name === "level" ? "int | str" : types.typeOf(schema, name),
})
function pathText(path: string, parameters: readonly Parameter[]): string {
  if (!path.includes("{")) return JSON.stringify(path)
  const text = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const parameter = parameters.find(each => each.in === "path" && each.name === name)
    const quote = parameter?.["x-many-segments"] === true ? "segments" : "segment"
    return `{${quote}(${pathName(path, name)})}`
  })
  return `f"${text}"`
}

const queryArgument = ({ name, schema, required }: Parameter, types: PythonTypes): Argument => {
  const type = types.typeOf(schema, name)
  return required ? { name: pythonName(name), type } : { name: pythonName(name), type: `${type} | None`, value: "None" }
}

type Body = {
  /** The type of a request that a caller writes as a whole. */
  readonly whole: string
  readonly leading: readonly Argument[]
  readonly named: readonly Argument[]
  readonly extra: readonly Argument[]
  readonly call: readonly string[]
}
const EXTRA: Argument = { name: "extra", type: "Mapping[str, Any] | None", value: "None" }
const IDEMPOTENCY_KEY: Argument = { name: "idempotency_key", type: "str | None", value: "None" }
const NO_BODY: Body = { whole: "", leading: [], named: [], extra: [], call: [] }

function bodyArguments(schema: Schema | undefined, types: PythonTypes): Body {
  if (schema === undefined) return NO_BODY
  const request = nameOf(schema) ?? ""
  if (DOCUMENTS.has(request))
    return { ...NO_BODY, leading: [{ name: "document", type: "Mapping[str, Any]" }], call: ["document"] }
  if (WHOLE_REQUESTS.has(request)) {
    const type = types.typeOf(schema, "")
    return {
      ...NO_BODY,
      whole: type,
      leading: [{ name: "request", type }],
      extra: [EXTRA],
      call: ["request"],
    }
  }
  const { properties = {}, required = [] } = resolved(schema)
  const members = Object.entries(properties).flatMap(([name, member]) => (member === false ? [] : [{ name, member }]))
  const free = members.filter(({ member }) => member.const === undefined)
  const argument = ({ name, member }: { name: string; member: Schema }): Argument => {
    const type = types.typeOf(member, `${request}.${name}`)
    if (required.includes(name)) return { name: pythonName(name), type }
    return type.endsWith("| None")
      ? { name: pythonName(name), type: type.replace(/ \| None$/, " | Absent | None"), value: "ABSENT" }
      : { name: pythonName(name), type: `${type} | None`, value: "None" }
  }
  const entries = members.map(each => {
    if (each.member.const !== undefined) return `"${each.name}": ${JSON.stringify(each.member.const)}`
    const { name, type } = argument(each)
    return `"${each.name}": ${/^r\.\w+$/.test(type) ? `whole(${name}, ${type})` : name}`
  })
  const cleared = free.filter(each => argument(each).value === "ABSENT").map(({ name }) => `"${name}"`)
  return {
    whole: "",
    leading: free.filter(({ name }) => required.includes(name)).map(argument),
    named: free.filter(({ name }) => !required.includes(name)).map(argument),
    extra: [EXTRA],
    call: [`spread({${entries.join(", ")}}, extra${cleared.length === 0 ? "" : `, clears=(${cleared.join(", ")})`})`],
  }
}

function pagesOf(query: readonly Parameter[], schema: Schema | undefined, types: PythonTypes): Pick<Method, "pages"> {
  if (schema === undefined || !query.some(({ name }) => name === "offset" || name === "before")) return {}
  const [[member, list] = []] = Object.entries(resolved(schema).properties ?? {}).filter(
    ([, each]) => each !== false && each.type === "array",
  )
  if (member === undefined || list === undefined || list === false || list.items === undefined) return {}
  const own = Object.keys(resolved(list.items).properties ?? {})
  const key = ["id", `${member.replace(/s$/, "")}_id`].find(each => own.includes(each)) ?? ""
  return { pages: { member, key, item: types.typeOf(list.items, "") } }
}

const argumentText = ({ name, type, value }: Argument): string =>
  value === undefined ? `${name}: ${type}` : `${name}: ${type} = ${value}`
/** A signature or a call: on one line where it fits. */
function bracketed(head: string, parts: readonly string[], tail: string, indent: string): string {
  const line = `${indent}${head}(${parts.join(", ")})${tail}`
  if (line.length <= 120) return line
  return `${indent}${head}(\n${parts.map(part => `${indent}    ${part},\n`).join("")}${indent})${tail}`
}
const starred = (named: readonly string[]): readonly string[] => (named.length === 0 ? [] : ["*", ...named])

/** A request as a whole is checked by the methods of a client: what a door makes is no literal, which alone a type checker reads. */
const BODY = "Mapping[str, Any]"
const ownNamed = ({ named, whole }: Method): readonly Argument[] =>
  whole === "" ? named : named.filter(each => each !== EXTRA)

function makerText(method: Method): string {
  const { name, about, leading, answer, call } = method
  const signature = [
    ...leading.map(each => argumentText(each.name === "request" ? { ...each, type: BODY } : each)),
    ...starred(ownNamed(method).map(argumentText)),
  ]
  return [
    bracketed(`def ${name}`, signature, ` -> Call[${answer}]:`, ""),
    `    """${about}"""`,
    bracketed("return Call", call, "", "    "),
  ].join("\n")
}

const TIMEOUT: Argument = { name: "timeout", type: "float | None", value: "None" }

function clientText(methods: readonly Method[], later: boolean): string {
  const head = later
    ? 'class AsyncOperations(AsyncSender):\n    """Every call of the public API, for asyncio."""'
    : 'class Operations(Sender):\n    """Every call of the public API."""'
  return [head, ...methods.flatMap(method => methodTexts(method, later))].join("\n\n")
}

function methodTexts(method: Method, later: boolean): readonly string[] {
  const { name, about, leading, named, answer, pages, lines } = method
  const text = (
    called: string,
    kind: string,
    all: readonly Argument[],
    gives: string,
    says: string,
    gets: string,
  ): string =>
    [
      bracketed(
        `${kind} ${called}`,
        ["self", ...leading.map(argumentText), ...starred(all.map(argumentText))],
        ` -> ${gives}:`,
        "    ",
      ),
      `        """${says}"""`,
      gets,
    ].join("\n")
  const call = (names: readonly Argument[]): string =>
    `c.${name}(${[...leading.map(sentAs), ...names.map(each => `${each.name}=${each.name}`)].join(", ")})`
  const sentAs = (each: Argument): string =>
    each.name === "request" ? `whole(request, ${method.whole}, extra)` : each.name
  const sent = [call(ownNamed(method)), "timeout=timeout"]
  const all = [...named, TIMEOUT]
  const iterator = later ? "AsyncIterator" : "Iterator"
  const [kind, get] = later ? ["async def", "return await self.send"] : ["def", "return self.send"]
  const found = [text(name, kind, all, answer, about, bracketed(get, sent, "", "        "))]
  if (pages !== undefined) {
    const rest = named.filter(each => !["offset", "before"].includes(each.name))
    const parts = [call(rest), `"${pages.member}"`, `"${pages.key}"`, "timeout"]
    const says = `The items of \`${name}\`, page by page: \`limit\` is the size of a page.`
    found.push(
      text(
        `iter_${name}`,
        "def",
        [...rest, TIMEOUT],
        `${iterator}[${pages.item}]`,
        says,
        bracketed("return self.items", parts, "", "        "),
      ),
    )
  }
  if (lines) {
    const says = `The lines of \`${name}\` as they arrive, however many: each is a document, with its line break.`
    found.push(
      text(
        `iter_${name}`,
        "def",
        all,
        `${iterator}[bytes]`,
        says,
        bracketed("return self.lines", [call(named), "timeout"], "", "        "),
      ),
    )
  }
  return found
}
