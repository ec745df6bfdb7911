/** One value of an act, read from a value of the payload. Nothing is rounded, trimmed or guessed: what is not exactly of the type is unreadable. */
import { type JsonTree, type NumberText, numberText, textOfNumber } from "@runseal/canonical"
import { type ActRow, EVERY_ITEM, stepsOf } from "./act-table.ts"
import { decimalText, decimalUnits } from "./decimal-text.ts"

/** Code units of a text of type `ascii`, and of one of type `string`. */
const ASCII_MAX_LENGTH = 256
const STRING_MAX_LENGTH = 1024
/** Items of a list that are read one by one. */
export const MAX_ITEMS = 256
/** Distinct texts of type `strings`. */
const STRINGS_MAX = 64

/** Why a name has no value, or an object is not as its table says. Closed codes: nothing of the payload is repeated. */
export const ACT_PROBLEMS = [
  "not_json",
  "absent",
  "wrong_type",
  "not_ascii",
  "control_character",
  "too_long",
  "not_exact",
  "out_of_bounds",
  "too_many",
  "twin_members",
  "unnamed_member",
] as const
export type ActProblem = (typeof ACT_PROBLEMS)[number]

/** A decimal, a sum and a max are texts with 1 to 4 digits after the point; `strings` are sorted by their code units. */
export type ActScalar = string | number | boolean | readonly string[]
type Read = { readonly value: ActScalar } | { readonly problem: ActProblem }

const problem = (code: ActProblem): Read => ({ problem: code })

/** Printable ASCII without the blank. */
const ASCII = /^[\x21-\x7e]+$/
/**
 * Controls, format characters and line ends, which change how a text is shown and not what it is (Cc, Cf, Zl and Zp of Unicode 16). A fixed
 * list: engines know different versions of Unicode.
 */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0001}\u{e0020}-\u{e007f}]/u
const INTEGER = /^-?(?:0|[1-9]\d{0,15})$/

/**
 * A list without items is as absent, whether `*` goes over it or a name of type `strings` leads to it.
 * @param found what is at the name's pointer: one value, or one for each item of the list that `*` goes over
 * @returns undefined for an absent value
 */
export function readValue(row: ActRow, found: readonly JsonTree<NumberText>[]): Read | undefined {
  if (found.length === 0) return undefined
  if (row.type !== "strings" || stepsOf(row.at).includes(EVERY_ITEM)) return readFound(row, found)
  const [list = null] = found
  if (!isList(list)) return problem("wrong_type")
  if (list.length > MAX_ITEMS) return problem("too_many")
  return list.length === 0 ? undefined : stringsOf(row, list)
}

function readFound(row: ActRow, found: readonly JsonTree<NumberText>[]): Read {
  const [first = null] = found
  switch (row.type) {
    case "boolean":
      return typeof first === "boolean" ? { value: first } : problem("wrong_type")
    case "integer":
      return integerOf(row, first)
    case "decimal":
      return decimalOf(row, first)
    case "sum":
    case "max":
      return foldDecimals(row, found)
    case "strings":
      return stringsOf(row, found)
    default:
      return textOf(row, first)
  }
}

const isList = (value: JsonTree<NumberText>): value is readonly JsonTree<NumberText>[] => Array.isArray(value)

function textOf({ type, case: letters }: ActRow, value: JsonTree<NumberText>): Read {
  if (typeof value !== "string") return problem("wrong_type")
  if (type === "string" || (type === "strings" && letters === undefined)) {
    if (value.length > STRING_MAX_LENGTH) return problem("too_long")
    return UNSEEN.test(value) ? problem("control_character") : { value }
  }
  if (value.length > ASCII_MAX_LENGTH) return problem("too_long")
  if (!ASCII.test(value)) return problem("not_ascii")
  if (letters === undefined) return { value }
  return { value: letters === "lower" ? value.toLowerCase() : value.toUpperCase() }
}

function stringsOf(row: ActRow, found: readonly JsonTree<NumberText>[]): Read {
  const distinct = new Set<string>()
  for (const item of found) {
    const read = textOf(row, item)
    if ("problem" in read) return read
    if (typeof read.value === "string") distinct.add(read.value)
  }
  return distinct.size > STRINGS_MAX ? problem("too_many") : { value: [...distinct].toSorted() }
}

function integerOf(row: ActRow, value: JsonTree<NumberText>): Read {
  const text = textOfNumber(value)
  if (text === undefined) return problem("wrong_type")
  if (!INTEGER.test(text)) return problem("not_exact")
  const number = Number(text)
  return isWithin(row, BigInt(number) * 10_000n) ? { value: number } : problem("out_of_bounds")
}

/** A number or a text, both read from their characters. */
function unitsOf(value: JsonTree<NumberText>): bigint | ActProblem {
  const text = textOfNumber(value) ?? value
  if (typeof text !== "string") return "wrong_type"
  return decimalUnits(text) ?? "not_exact"
}

function decimalOf(row: ActRow, value: JsonTree<NumberText>): Read {
  const units = unitsOf(value)
  return typeof units === "bigint" ? boundedDecimal(row, units) : problem(units)
}

function foldDecimals(row: ActRow, found: readonly JsonTree<NumberText>[]): Read {
  let folded: bigint | undefined
  for (const item of found) {
    const units = unitsOf(item)
    if (typeof units !== "bigint") return problem(units)
    if (folded === undefined) folded = units
    else if (row.type === "sum") folded += units
    else if (units > folded) folded = units
  }
  return boundedDecimal(row, folded ?? 0n)
}

function boundedDecimal(row: ActRow, units: bigint): Read {
  const value = decimalText(units)
  return value === undefined || !isWithin(row, units) ? problem("out_of_bounds") : { value }
}

function isWithin({ min, max }: ActRow, units: bigint): boolean {
  const least = decimalUnits(min ?? "")
  const most = decimalUnits(max ?? "")
  return (least === undefined || units >= least) && (most === undefined || units <= most)
}

/** Whether a sealed value is one that its type can have been read as. */
export function isValueOf(type: ActRow["type"], value: ActScalar): boolean {
  const tree = typeof value === "number" ? numberText(String(value)) : value
  const folded = type === "sum" || type === "max" ? "decimal" : type
  const read = readValue({ at: "/sealed", type: folded }, [tree])
  if (read === undefined || "problem" in read) return false
  return Array.isArray(read.value) ? `${read.value}` === `${value}` && Array.isArray(value) : read.value === value
}
