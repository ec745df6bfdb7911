/** What a schema found wrong, in words that quote nothing of what was received but, at most, the names on the way to it. */
import * as v from "valibot"

/** The reason for a key that a document has and its schema has not. */
export const FOREIGN_KEY = "a key that does not belong here"

/** Where and why, as one sentence without its full stop. */
export function issueText(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue)
  return path === null ? issueReason(issue) : `${path}: ${issueReason(issue)}`
}

/** Whether the issue is a key that a strict object does not know; its path then ends with that key. */
export const isForeignKey = (issue: v.BaseIssue<unknown>): boolean =>
  issue.type === "strict_object" && issue.expected === "never"

/** Text that is spelt as names of fields are: any other may be a secret in the wrong place, and is not repeated. */
const FIELD_NAME = /^(?!rsk_)[a-z][a-z0-9_]{0,31}$/

/** The name that a caller gave to a field or parameter, or undefined for one that is not shown. */
export const shownName = (name: string): string | undefined => (FIELD_NAME.test(name) ? name : undefined)

/** Which key of an object is refused, and which are accepted. Only for shapes without inner strict objects. */
export function foreignField(issue: v.BaseIssue<unknown>, shape: v.GenericSchema<unknown, unknown>): string {
  const name = shownName(v.getDotPath(issue) ?? "")
  const accepted = "entries" in shape ? Object.keys(shape.entries ?? {}).join(", ") : ""
  return `has ${name === undefined ? "a field that it does not accept" : `no field ${name}`}; its fields are ${accepted}`
}

/** valibot's words for what it expected, as a reader knows them. */
const EXPECTED: Readonly<Record<string, string>> = {
  string: "a string",
  boolean: "true or false",
  number: "a number",
  Array: "a list",
  Object: "an object",
  // Every schema that is a function alone describes a JSON object.
  unknown: "an object",
}

/** Longest list of allowed words that a message contains, in UTF-16 units: a longer one would not be read. */
const QUOTED_LIST_MAX = 160

/** Our own message, or what was expected: valibot's own messages quote what was received. */
export function issueReason(issue: v.BaseIssue<unknown>): string {
  if (isForeignKey(issue)) return FOREIGN_KEY
  if (!/\breceived\b/i.test(issue.message)) return issue.message
  if (issue.received === "undefined") return "is required"
  if (issue.expected === null) return "has a value that is not accepted"
  const expected = expectedWords(issue.expected)
  return `must be ${expected.length > QUOTED_LIST_MAX ? "one of the words that are listed for it" : expected}`
}

/** valibot's list `(number | "a")` as words: `a number or "a"`. */
function expectedWords(expected: string): string {
  const words = expected
    .replace(/^\((.*)\)$/, "$1")
    .split(" | ")
    .map(word => EXPECTED[word] ?? word)
  return [words.slice(0, -1).join(", "), ...words.slice(-1)].filter(part => part !== "").join(" or ")
}
