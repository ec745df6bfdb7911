/** The message for a value that does not fit: where and why, in one wording for requests and documents. */
import * as v from "valibot"
import { expect, test } from "vitest"
import { ATTESTED_FIELDS } from "../vocabulary/decision-codes.ts"
import { jsonObjectSchema } from "./json-object-schema.ts"
import { parseExact } from "./parse-exact.ts"
import { issueText } from "./schema-issue.ts"

const RECEIVED = "received-canary-5b21"

const schema = v.strictObject({
  text: v.string(),
  count: v.pipe(v.number(), v.integer("must be an integer")),
  kind: v.picklist(["a", "b"]),
  field: v.picklist(ATTESTED_FIELDS),
  either: v.exactOptional(v.union([v.number(), jsonObjectSchema])),
  parts: v.array(v.strictObject({ name: v.string() })),
})
const fitting = { text: "t", count: 1, kind: "a", field: "attested", parts: [{ name: "n" }] }

type Case = readonly [what: string, value: unknown, sentence: string]
const CASES: readonly Case[] = [
  ["a missing member", { ...fitting, text: undefined }, "text: is required"],
  ["another type", { ...fitting, text: 7 }, "text: must be a string"],
  ["a rule of ours", { ...fitting, count: 0.5 }, "count: must be an integer"],
  ["a word of no list", { ...fitting, kind: RECEIVED }, 'kind: must be "a" or "b"'],
  [
    "a word of no list, which is long",
    { ...fitting, field: RECEIVED },
    "field: must be one of the words that are listed for it",
  ],
  ["neither of two types", { ...fitting, either: [RECEIVED] }, "either: must be a number or an object"],
  ["a list that is none", { ...fitting, parts: RECEIVED }, "parts: must be a list"],
  ["a member of a list", { ...fitting, parts: [{ name: null }] }, "parts.0.name: must be a string"],
  [
    "a foreign key",
    { ...fitting, parts: [{ name: "n", more: RECEIVED }] },
    "parts.0.more: a key that does not belong here",
  ],
]

test.each(CASES)("%s is named by its place, in one wording, and never by its value", (_what, value, sentence) => {
  const parsed = v.safeParse(schema, value)
  expect(parsed.issues?.map(issueText)[0]).toBe(sentence)
  expect(parseExact(schema, value)).toEqual({ ok: false, problem: sentence })
  expect(sentence).not.toContain(RECEIVED)
})

test("an empty list is no object, also where no field of that object is required", () => {
  const outer = v.strictObject({ inner: v.exactOptional(v.strictObject({ may: v.exactOptional(v.string()) })) })
  expect(parseExact(outer, { inner: {} })).toEqual({ ok: true, value: { inner: {} } })
  expect(parseExact(outer, { inner: [] })).toEqual({ ok: false, problem: "inner: must be an object" })
  expect(parseExact(outer, [])).toEqual({ ok: false, problem: "must be an object" })
})

test("a value without a place is described by what it should be", () => {
  expect(parseExact(schema, RECEIVED)).toEqual({ ok: false, problem: "must be an object" })
})
