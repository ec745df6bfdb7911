import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { jsonArbitrary } from "../test/arbitrary.ts"
import { countNodes, type JsonValue, MAX_NODES, parseStrictJson, StrictJsonError, utf8Encode } from "./index.ts"

const count = (text: string): number => countNodes(utf8Encode(text))

/** Each array and object, each member, each item behind the first. */
function nodesOf(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0
  const inner = Object.values(value).reduce((sum: number, item: JsonValue) => sum + nodesOf(item), 0)
  const { length } = Object.keys(value)
  const further = Math.max(length - 1, 0)
  return 1 + further + (Array.isArray(value) ? 0 : length) + inner
}

describe("nodes", () => {
  test.each([
    ["1", 0],
    ['"[{,:"', 0],
    ['"\\"[,"', 0],
    ['"\\\\",[', 2],
    ["[]", 1],
    ["[1,[2],{}]", 5],
    ['{"a":1,"b,":[":"]}', 5],
    ['"never ends [,', 0],
  ])("of %s", (text, nodes) => {
    expect(count(text)).toBe(nodes)
  })

  test("are those of the value, however it is written", () => {
    fc.assert(
      fc.property(jsonArbitrary, value => {
        expect(count(JSON.stringify(value))).toBe(nodesOf(value))
        expect(count(JSON.stringify(value, null, 2))).toBe(nodesOf(value))
      }),
    )
  })

  test("are not counted on when there are enough", () => {
    expect(countNodes(utf8Encode("[".repeat(1000)), 10)).toBe(10)
  })
})

describe("a text of too many nodes", () => {
  const refusalOf = (input: string | Uint8Array, maxNodes?: number): string => {
    try {
      parseStrictJson(input, maxNodes === undefined ? {} : { maxNodes })
    } catch (error) {
      if (error instanceof StrictJsonError) return error.code
      throw error
    }
    return "none"
  }

  test("is refused, as bytes and as a string, before anything is said of what it holds", () => {
    for (const input of ["[1,1,?", utf8Encode("[1,1,?")]) {
      expect(refusalOf(input, 2)).toBe("too_many_nodes")
      expect(refusalOf(input, 3)).toBe("syntax")
    }
  })

  test("cannot be had by asking for more", () => {
    const most = `[${"1,".repeat(MAX_NODES - 1)}1]`
    expect(refusalOf(most, 10 * MAX_NODES)).toBe("none")
    expect(refusalOf(`[${most}]`, 10 * MAX_NODES)).toBe("too_many_nodes")
  })
})

describe("what is read takes little memory", () => {
  setFlagsFromString("--expose-gc")
  const collect: () => void = runInNewContext("gc")
  const heapAfter = (): number => {
    collect()
    collect()
    return process.memoryUsage().heapUsed
  }
  /** What a value may take, in bytes a node; a name of its own for each object is the most. */
  const MOST = 128
  const NODES = 60_000
  const nested = `${"[".repeat(60)}${"]".repeat(60)}`
  const named = (name: (at: number) => string): string =>
    Array.from({ length: NODES / 3 }, (_, at) => `{"${name(at)}":1}`).join(",")
  const shapes: readonly (readonly [string, string])[] = [
    ["arrays in arrays", Array.from({ length: NODES / 61 }, () => nested).join(",")],
    ["arrays of one item", Array.from({ length: NODES / 2 }, () => "[1]").join(",")],
    ["empty objects", Array.from({ length: NODES / 2 }, () => "{}").join(",")],
    ["objects of one index", named(() => "1000")],
    ["objects of an index of their own", named(at => `${at}`)],
    ["objects of a name of their own", named(at => at.toString(36))],
    ["objects of one name", named(() => "a")],
    ["numbers", Array.from({ length: NODES }, () => "0.5").join(",")],
  ]

  test.each(shapes)("%s", (_, items) => {
    const bytes = utf8Encode(`[${items}]`)
    const before = heapAfter()
    const value = parseStrictJson(bytes)
    const taken = heapAfter() - before
    expect(taken / countNodes(bytes)).toBeLessThan(MOST)
    expect(Array.isArray(value)).toBe(true)
  })
})
