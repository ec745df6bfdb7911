/** What is read of a payload, and what is never guessed: docs/policy-and-review.md, "Act tables". */
import * as v from "valibot"
import { describe, expect, test } from "vitest"
import { actFromValues } from "./act-from-values.ts"
import { type ActTable, actTableSchema, tableOf } from "./act-table.ts"
import { actReader, foldName, type ReadAct, readAct } from "./read-act.ts"

const TRANSFER: ActTable = v.parse(actTableSchema, {
  name: "transfer",
  routes: ["payments/transfer", "mcp/bank/*"],
  closed: ["/arguments"],
  ignored: ["/arguments/memo"],
  names: {
    amount: { at: "/arguments/amount", type: "decimal", min: "0.01", max: "1000000.00" },
    currency: { at: "/arguments/currency", type: "ascii" },
    payee: { at: "/arguments/to/iban", type: "ascii", case: "upper" },
    cc: { at: "/arguments/cc", type: "strings", optional: true },
    total: { at: "/arguments/items/*/amount", type: "sum", optional: true },
    largest: { at: "/arguments/items/*/amount", type: "max", optional: true },
  },
})

const read = (payload: string, table: ActTable = TRANSFER): ReadAct => readAct(actReader(table), payload)
const transfer = (members: string): string =>
  `{"arguments":{"amount":12500.00,"currency":"EUR","to":{"iban":"de02 "}${members === "" ? "" : `,${members}`}}}`.replace(
    "de02 ",
    "de02",
  )
const valuesOf = ({ values }: ReadAct) => Object.fromEntries(values.map(({ name, value }) => [name, value]))
const faultsOf = ({ unreadable }: ReadAct) =>
  unreadable.map(fault => `${"name" in fault ? fault.name : fault.at} ${fault.problem}`)

/** A table of one required name at `/x`. */
const one = (row: object): ActTable =>
  v.parse(actTableSchema, { name: "one", routes: ["r"], names: { x: { at: "/x", ...row } } })

test("values are read where the table says, in its types", () => {
  const act = read(transfer('"cc":["b","a","b"],"items":[{"amount":"1.5"},{"amount":20}],"memo":{"any":[1,2]}'))
  expect(valuesOf(act)).toEqual({
    amount: "12500.0",
    cc: ["a", "b"],
    currency: "EUR",
    largest: "20.0",
    payee: "DE02",
    total: "21.5",
  })
  expect(act.unreadable).toEqual([])
  expect(act.values[0]).toEqual({ name: "amount", at: "/arguments/amount", type: "decimal", value: "12500.0" })
})

test("an optional name without a value, and a list without items, are absent", () => {
  expect(valuesOf(read(transfer('"cc":[],"items":[]')))).toEqual(valuesOf(read(transfer(""))))
})

describe("is unreadable", () => {
  test.each<readonly [what: string, payload: string, ...faults: string[]]>([
    ["no JSON", "Approve it.", " not_json"],
    ["a name twice", transfer('"amount":1'), " not_json"],
    ["a lone surrogate", transfer('"cc":["\\ud800"]'), " not_json"],
    ["a required name that is left out", transfer("").replace('"currency":"EUR",', ""), "currency absent"],
    [
      "a required name in capitals",
      transfer("").replace('"currency"', '"Currency"'),
      "amount twin_members",
      "cc twin_members",
      "currency twin_members",
      "largest twin_members",
      "payee twin_members",
      "total twin_members",
      "/arguments twin_members",
    ],
    ["null", transfer("").replace('"EUR"', "null"), "currency wrong_type"],
    ["another type", transfer("").replace('"EUR"', "978"), "currency wrong_type"],
    ["text where an object is", transfer("").replace('{"iban":"de02"}', '"de02"'), "payee wrong_type"],
    ["an exponent", transfer("").replace("12500.00", "1e3"), "amount not_exact"],
    ["five places", transfer("").replace("12500.00", "1.00001"), "amount not_exact"],
    ["minus zero", transfer("").replace("12500.00", '"-0.0"'), "amount not_exact"],
    ["a plus sign", transfer("").replace("12500.00", '"+5"'), "amount not_exact"],
    ["a leading zero", transfer("").replace("12500.00", '"05"'), "amount not_exact"],
    ["less than the least", transfer("").replace("12500.00", "0"), "amount out_of_bounds"],
    ["more than the most", transfer("").replace("12500.00", "1000000.01"), "amount out_of_bounds"],
    ["a blank in ASCII", transfer("").replace('"EUR"', '"EU R"'), "currency not_ascii"],
    ["a letter that looks like ASCII", transfer("").replace('"EUR"', '"ЕUR"'), "currency not_ascii"],
    ["a text that is too long", transfer("").replace('"EUR"', `"${"E".repeat(257)}"`), "currency too_long"],
    ["a member that nothing names", transfer('"extra":1'), "/arguments unnamed_member"],
    [
      "a list where an object is",
      '{"arguments":[]}',
      ...["amount", "cc", "currency", "largest", "payee", "total"].map(name => `${name} wrong_type`),
      "/arguments wrong_type",
    ],
    ["an item without the value", transfer('"items":[{"amount":1},{}]'), "largest absent", "total absent"],
    [
      "257 items",
      transfer(`"items":[${Array(257).fill('{"amount":1}').join(",")}]`),
      "largest too_many",
      "total too_many",
    ],
    ["65 texts", transfer(`"cc":[${Array.from({ length: 65 }, (_, i) => `"${i}"`).join(",")}]`), "cc too_many"],
    ["one text for a list", transfer('"cc":"a"'), "cc wrong_type"],
    ["a control character", transfer('"cc":["a\\u202eb"]'), "cc control_character"],
    ["a sum beyond 14 digits", transfer('"items":[{"amount":99999999999999},{"amount":1}]'), "total out_of_bounds"],
  ])("%s", (_what, payload, ...faults) => {
    expect(faultsOf(read(payload))).toEqual(faults)
  })

  test("what is unreadable in one name leaves the other values", () => {
    expect(valuesOf(read(transfer("").replace("12500.00", "null")))).toEqual({ currency: "EUR", payee: "DE02" })
  })

  test("a digit step is the index of a list alone, and a named step a member of an object alone", () => {
    const table = v.parse(actTableSchema, {
      name: "first",
      routes: ["r"],
      names: { x: { at: "/a/0/b", type: "boolean" } },
    })
    expect(valuesOf(read('{"a":[{"b":true}]}', table))).toEqual({ x: true })
    expect(faultsOf(read('{"a":{"0":{"b":true}}}', table))).toEqual(["x wrong_type"])
    expect(faultsOf(read('{"a":[[true]]}', table))).toEqual(["x wrong_type"])
  })

  test("values that are too long together, and no value is sealed", () => {
    const names = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [`n${i}`, { at: `/n${i}`, type: "string" as const }]),
    )
    const table = v.parse(actTableSchema, { name: "long", routes: ["r"], names })
    const payload = JSON.stringify(Object.fromEntries(Object.keys(names).map(name => [name, "x".repeat(1000)])))
    expect(read(payload, table)).toEqual({ values: [], unreadable: [{ at: "", problem: "too_long" }] })
  })
})

/** Members that a reader without case or in another form of Unicode takes for one. */
const TWINS: readonly (readonly [string, string])[] = [
  ["amount", "Amount"],
  ["amount", "AMOUNT"],
  ["strasse", "straße"],
  ["straße", "STRASSE"],
  ["kelvin", "\u212aelvin"],
  ["ms", "\u017fm".replace("\u017fm", "m\u017f")],
  ["ﬁle", "file"],
  ["σας", "ΣΑΣ"],
  ["é", "e\u0301"],
  ["ａmount", "amount"],
]

describe("two members that are one to a reader without case", () => {
  test.each(TWINS)("%j and %j", (one_name, other) => {
    expect(foldName(one_name)).toBe(foldName(other))
    const table = v.parse(actTableSchema, { name: "any", routes: ["r"], names: { x: { at: "/x", type: "boolean" } } })
    const payload = `{"x":true,${JSON.stringify(one_name)}:1,${JSON.stringify(other)}:2}`
    expect(faultsOf(read(payload, table))).toEqual(["x twin_members", " twin_members"])
  })

  test("names that only look alike to nobody's reader are two", () => {
    expect(foldName("amount")).not.toBe(foldName("amounts"))
    expect(foldName("а")).not.toBe(foldName("a"))
  })

  test("are seen as Unicode's simple case folding has them, in every code point", () => {
    // The engine's own tables: /iu compares by simple case folding (ECMA-262, Canonicalize).
    const differing: string[] = []
    for (let code = 0x80; code < 0x1_e9ff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue
      const character = String.fromCodePoint(code)
      for (const other of [character.toLowerCase(), character.toUpperCase()])
        if (other !== character && [...other].length === 1)
          if (new RegExp(`^${character}$`, "iu").test(other) && foldName(character) !== foldName(other))
            differing.push(character)
    }
    expect(differing).toEqual([])
  })
})

describe("the types", () => {
  test.each<readonly [type: string, json: string, value: unknown]>([
    ["integer", "-9007199254740991", -9007199254740991],
    ["integer", "0", 0],
    ["decimal", "5", "5.0"],
    ["decimal", "-0.1230", "-0.123"],
    ["decimal", '"12500.00"', "12500.0"],
    ["decimal", "99999999999999.9999", undefined],
    ["decimal", '"99999999999999.9999"', "99999999999999.9999"],
    ["boolean", "false", false],
    ["string", '"Größe: 12 m²"', "Größe: 12 m²"],
    ["integer", "5.0", undefined],
    ["integer", '"5"', undefined],
    ["boolean", '"true"', undefined],
  ])("%s of %s is %j", (type, json, value) => {
    const act = read(`{"x":${json}}`, one({ type }))
    expect(valuesOf(act)).toEqual(value === undefined ? {} : { x: value })
    expect(act.unreadable).toHaveLength(value === undefined ? 1 : 0)
  })
})

describe("a table is refused", () => {
  test.each<readonly [what: string, change: object]>([
    ["a name that is a word of Cedar", { names: { like: { at: "/x", type: "boolean" } } }],
    ["a name of JavaScript's prototype", { names: { constructor: { at: "/x", type: "boolean" } } }],
    ["a pointer that is none", { names: { x: { at: "x", type: "boolean" } } }],
    ["the step -", { names: { x: { at: "/x/-", type: "boolean" } } }],
    ["two steps *", { names: { x: { at: "/x/*/*", type: "sum" } } }],
    ["a sum without *", { names: { x: { at: "/x", type: "sum" } } }],
    ["a decimal with *", { names: { x: { at: "/x/*", type: "decimal" } } }],
    ["bounds of a text", { names: { x: { at: "/x", type: "string", min: "1" } } }],
    ["a min above the max", { names: { x: { at: "/x", type: "decimal", min: "2", max: "1" } } }],
    ["a bound of five places", { names: { x: { at: "/x", type: "decimal", min: "0.00001" } } }],
    ["no names", { names: {} }],
    ["no routes", { routes: [] }],
    ["a star within a route", { routes: ["a/*/b"] }],
    ["the name execute", { name: "execute" }],
    ["an unknown member", { note: "x" }],
  ])("that has %s", (_what, change) => {
    expect(v.safeParse(actTableSchema, { ...TRANSFER, ...change }).success).toBe(false)
  })
})

test("the table of a route is the one that names it, else the one with the longest prefix", () => {
  const named = (name: string, ...routes: string[]): ActTable => ({ ...TRANSFER, name, routes })
  const tables = [named("all", "mcp/*"), named("bank", "mcp/bank/*"), named("exact", "mcp/bank/pay")]
  expect(
    ["mcp/bank/pay", "mcp/bank/list", "mcp/x", "mcp", "mcp/", "payments"].map(route => tableOf(tables, route)?.name),
  ).toEqual(["exact", "bank", "all", undefined, "all", undefined])
})

describe("an act from sealed values", () => {
  const sealed = read(transfer('"cc":["a"]')).values
  const narrower: ActTable = {
    ...TRANSFER,
    names: { ...TRANSFER.names, amount: { at: "/arguments/amount", type: "decimal", max: "100" } },
  }

  test("is read as the payload would be, where the values tell", () => {
    expect(actFromValues(TRANSFER, sealed, TRANSFER)).toEqual(read(transfer('"cc":["a"]')))
    expect(actFromValues(narrower, sealed, TRANSFER)).toEqual(read(transfer('"cc":["a"]'), narrower))
  })

  test("is a sentence where they do not", () => {
    const other: ActTable = { ...TRANSFER, names: { who: { at: "/arguments/who", type: "ascii" } } }
    expect(actFromValues(other, sealed, TRANSFER)).toBe("its record has no ascii at /arguments/who")
    expect(actFromValues(TRANSFER, sealed)).toContain("does not say which members")
  })
})
