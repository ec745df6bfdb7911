/**
 * Reads an act from the bytes that a permit binds, by the act table of its route. Pure: service and verifier read the same values from the
 * same payload. The payload is the word of the agent, which is hostile here: each way to be read otherwise by an executor is unreadable.
 */
import { type JsonTree, type NumberText, parseNumberTexts, StrictJsonError, textOfNumber } from "@runseal/canonical"
import { type ActRow, type ActTable, EVERY_ITEM, stepsOf } from "./act-table.ts"
import { type ActProblem, type ActScalar, MAX_ITEMS, readValue } from "./act-value.ts"

/** Objects that are named as not being as the table says. */
const MAX_OBJECT_FAULTS = 16
/** Code units of all values of one act together. */
const MAX_VALUE_UNITS = 16_384

/** A value as it was read. */
export type ActValue = {
  readonly name: string
  readonly at: string
  readonly type: ActRow["type"]
  readonly value: ActScalar
}
/** A name, or an object by its pointer, that is not as the table says. */
export type ActFault =
  | { readonly name: string; readonly problem: ActProblem }
  | { readonly at: string; readonly problem: ActProblem }

export type ReadAct = {
  /** Sorted by name. */
  readonly values: readonly ActValue[]
  /** Names, sorted, and then objects in the order of the table. Not empty: the act is unreadable, and no rule is asked. */
  readonly unreadable: readonly ActFault[]
}

type Value = JsonTree<NumberText>
type Members = { readonly [name: string]: Value }

/** A place that pointers of the table pass or end in. */
type Place = {
  readonly at: string
  readonly steps: Map<string, Place>
  names: readonly string[]
  closed: boolean
}

/** A table whose pointers are joined where they share steps. */
export type ActReader = { readonly table: ActTable; readonly root: Place }

const newPlace = (at: string): Place => ({ at, steps: new Map(), names: [], closed: false })

function placeAt(root: Place, pointer: string): Place {
  let place = root
  for (const [index, step] of stepsOf(pointer).entries()) {
    const at = pointer.split("/", index + 2).join("/")
    const next = place.steps.get(step) ?? newPlace(at)
    place.steps.set(step, next)
    place = next
  }
  return place
}

export function actReader(table: ActTable): ActReader {
  const root = newPlace("")
  for (const [name, { at }] of Object.entries(table.names)) {
    const place = placeAt(root, at)
    place.names = [...place.names, name]
  }
  for (const pointer of table.ignored ?? []) placeAt(root, pointer)
  for (const pointer of table.closed ?? []) placeAt(root, pointer).closed = true
  return { table, root }
}

/** What was met on the way through a payload. */
type Seen = {
  readonly found: Map<string, Value[]>
  readonly problems: Map<string, ActProblem>
  readonly objects: ActFault[]
}

/**
 * @param payload as the request has it; its UTF-8 bytes are what the permit binds
 */
export function readAct({ table, root }: ActReader, payload: string): ReadAct {
  const tree = treeOf(payload)
  if (tree === undefined) return { values: [], unreadable: [{ at: "", problem: "not_json" }] }
  const seen: Seen = { found: new Map(), problems: new Map(), objects: [] }
  visit(root, tree, seen, false)
  const values: ActValue[] = []
  const unreadable: ActFault[] = []
  for (const name of Object.keys(table.names).toSorted()) {
    const row = table.names[name]
    if (row === undefined) continue
    const read = readName(row, seen.problems.get(name), seen.found.get(name) ?? [])
    if (read === undefined) continue
    if ("problem" in read) unreadable.push({ name, problem: read.problem })
    else values.push({ name, at: row.at, type: row.type, value: read.value })
  }
  if (unitsOf(values) > MAX_VALUE_UNITS) return { values: [], unreadable: [{ at: "", problem: "too_long" }] }
  return { values, unreadable: [...unreadable, ...seen.objects] }
}

function treeOf(payload: string): Value | undefined {
  try {
    return parseNumberTexts(payload)
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined
    throw error
  }
}

/** Undefined for an optional name without a value. */
function readName(row: ActRow, problem: ActProblem | undefined, found: readonly Value[]) {
  if (problem !== undefined) return { problem }
  return readValue(row, found) ?? (row.optional === true ? undefined : { problem: "absent" as const })
}

const unitsOf = (values: readonly ActValue[]): number =>
  values.reduce((sum, { value }) => sum + (Array.isArray(value) ? value.join("").length : String(value).length), 0)

const INDEX = /^(?:0|[1-9]\d*)$/

/** @param inItem whether the value is in an item that `*` goes over: there, what is absent is a fault also of an optional name */
function visit(place: Place, value: Value, seen: Seen, inItem: boolean): void {
  for (const name of place.names) find(name, value, seen)
  if (isList(value)) visitArray(place, value, seen, inItem)
  else if (isObject(value)) visitObject(place, value, seen, inItem)
  else {
    for (const next of place.steps.values()) failNames(next, "wrong_type", seen)
    if (place.closed) failObject(place, "wrong_type", seen)
  }
}

function failObject({ at }: Place, problem: ActProblem, { objects }: Seen): void {
  const known = objects.some(fault => "at" in fault && fault.at === at && fault.problem === problem)
  if (!known && objects.length < MAX_OBJECT_FAULTS) objects.push({ at, problem })
}

function find(name: string, value: Value, { found }: Seen): void {
  const before = found.get(name)
  if (before === undefined) found.set(name, [value])
  else before.push(value)
}

function visitArray(place: Place, items: readonly Value[], seen: Seen, inItem: boolean): void {
  if (place.closed) failObject(place, "wrong_type", seen)
  for (const [step, next] of place.steps) {
    if (step === EVERY_ITEM) visitItems(next, items, seen)
    else if (!INDEX.test(step)) failNames(next, "wrong_type", seen)
    else visitStep(next, items[Number(step)], seen, inItem)
  }
}

function visitItems(next: Place, items: readonly Value[], seen: Seen): void {
  if (items.length > MAX_ITEMS) failNames(next, "too_many", seen)
  else for (const item of items) visit(next, item, seen, true)
}

function visitObject(place: Place, members: Members, seen: Seen, inItem: boolean): void {
  if (place.steps.size === 0 && !place.closed) return
  if (hasTwins(place, members)) {
    failObject(place, "twin_members", seen)
    for (const next of place.steps.values()) failNames(next, "twin_members", seen)
    return
  }
  if (place.closed && Object.keys(members).some(name => name === EVERY_ITEM || !place.steps.has(name)))
    failObject(place, "unnamed_member", seen)
  for (const [step, next] of place.steps) {
    if (step === EVERY_ITEM || INDEX.test(step)) failNames(next, "wrong_type", seen)
    else visitStep(next, Object.hasOwn(members, step) ? members[step] : undefined, seen, inItem)
  }
}

function visitStep(next: Place, value: Value | undefined, seen: Seen, inItem: boolean): void {
  if (value !== undefined) visit(next, value, seen, inItem)
  else if (inItem) failNames(next, "absent", seen)
}

/** Whether two members are one to a reader without case, or one is a step to such a reader alone. */
function hasTwins({ steps }: Place, members: Members): boolean {
  const folds = new Set<string>()
  for (const name of Object.keys(members)) {
    const fold = foldName(name)
    if (folds.has(fold)) return true
    folds.add(fold)
  }
  return [...steps.keys()].some(step => !Object.hasOwn(members, step) && folds.has(foldName(step)))
}

/** All names at and behind a place. The first problem of a name counts. */
function failNames(place: Place, problem: ActProblem, seen: Seen): void {
  for (const name of place.names) if (!seen.problems.has(name)) seen.problems.set(name, problem)
  for (const next of place.steps.values()) failNames(next, problem, seen)
}

const isList = (value: Value): value is readonly Value[] => Array.isArray(value)
const isObject = (value: Value): value is Members =>
  typeof value === "object" && value !== null && textOfNumber(value) === undefined && !isList(value)

// Names of members as a reader without case takes them. Executors in Go and .NET read `Amount` where a payload has `amount`, so two members
// with one fold are two values of one name.

/** Most names are ASCII, of which only the capitals fold to something else. */
const ASCII = /^[^\u0080-\uffff]*$/

/**
 * Lower case first: the capital sharp s (U+1E9E) is its own upper case, and only its lower case becomes `SS`.
 */
const withoutCase = (name: string): string => name.toLowerCase().toUpperCase().toLowerCase()

/** Equal for two names that are one under Unicode's case folding (CaseFolding.txt, rows C and F) or under NFKC. */
export const foldName = (name: string): string =>
  ASCII.test(name) ? name.toLowerCase() : withoutCase(name.normalize("NFKC")).normalize("NFKC")
