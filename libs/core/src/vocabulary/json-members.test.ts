import type { JsonObject, JsonValue } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { isSameBut, isSameJson } from "./json-members.ts"

const parsed = (text: string): JsonValue => JSON.parse(text)

describe("two values have one canonical form", () => {
  test.each([
    ["{}", "{}"],
    ['{"a":1,"b":[null,{"c":"d"}]}', '{"b":[null,{"c":"d"}],"a":1}'],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}'],
  ])("%s and %s", (one, other) => {
    expect(isSameJson(parsed(one), parsed(other))).toBe(true)
  })

  test.each([
    ['{"a":null}', '{"b":null}'],
    ['{"a":null}', '{"a":{}}'],
    ['{"a":1}', '{"a":1,"b":2}'],
    ['{"a":1}', '{"a":"1"}'],
    ['{"a":[]}', '{"a":{}}'],
    ['{"a":["b"]}', '{"a":["b","c"]}'],
    ['{"__proto__":{}}', '{"a":{}}'],
    ['{"toString":{}}', '{"a":{}}'],
  ])("not %s and %s", (one, other) => {
    expect(isSameJson(parsed(one), parsed(other))).toBe(false)
    expect(isSameJson(parsed(other), parsed(one))).toBe(false)
  })
})

describe("an object has all members of another but one", () => {
  const sealed: JsonObject = { kind: "k", list: [{ a: 1 }], hash: "h" }
  test("whatever their order", () => {
    expect(isSameBut(sealed, { list: [{ a: 1 }], kind: "k" }, "hash")).toBe(true)
  })

  test.each<[string, JsonObject]>([
    ["a member is missing", { kind: "k" }],
    ["a member is another", { kind: "k", list: [{ a: 2 }] }],
    ["a member has another name", { kind: "k", toString: "k" }],
    ["the one is there", { kind: "k", hash: "h" }],
    ["there is one more", { kind: "k", list: [{ a: 1 }], more: 1 }],
  ])("not when %s", (_, other) => {
    expect(isSameBut(sealed, other, "hash")).toBe(false)
  })
})
