import { expect, test } from "vitest"
import { lineOf, scanSource } from "./scan-source.ts"

/** In the samples #{ means the opening of a template substitution. */
const sample = (text: string): string => text.replaceAll("#{", ["$", "{"].join(""))

const specifiers = (text: string): string[] => scanSource(text).imports.map(found => found.specifier)

test("both views keep the length and the lines of the text", () => {
  const text = sample('const a = "x\\"y" // note\n/* b\n c */ const d = `e #{f} g\n`\n')
  const { code, comments } = scanSource(text)
  expect(code).toHaveLength(text.length)
  expect(comments).toHaveLength(text.length)
  expect(code.split("\n").map(line => line.trimEnd())).toEqual([
    'const a = "    "',
    "",
    sample("      const d = `  #{f}"),
    "`",
    "",
  ])
  expect(comments.split("\n").map(line => line.trim())).toEqual(["// note", "/* b", "c */", "", ""])
})

const codeOf: readonly (readonly [what: string, text: string, code: string])[] = [
  ["a comment mark in a string", 'a("//b") // c', 'a("   ")     '],
  ["a quote in a comment", "a /* it's */ b", "a            b"],
  ["a quote in a regular expression", "x = /[\"'`/]/g; y", "x =          ; y"],
  ["a regular expression after return", "return /'/.test(a)", "return    .test(a)"],
  ["divisions", "a / b / c", "a / b / c"],
  ["a division after a bracket", "f(a)[1] / g() / 2", "f(a)[1] / g() / 2"],
  ["braces within a template substitution", "`a#{ { b: `c#{d}` } }e` + f", "` #{ { b: ` #{d}` } } ` + f"],
  ["an escaped backtick", "`a\\`b` + c", "`    ` + c"],
  ["a dollar without brace", "`$a $` + b", "`    ` + b"],
  ["an apostrophe within double quotes", '"it\'s" + a', '"    " + a'],
  ["a string left open ends with its line", "'abc\nlet d", "'   \nlet d"],
]
test.each(codeOf)("code of %s", (_what, text, code) => {
  expect(scanSource(sample(text)).code).toBe(sample(code))
})

const named: readonly (readonly [text: string, specifier: string, names: readonly string[]])[] = [
  ['import a from "x"', "x", ["default"]],
  ["import { a, type b as c, d } from 'x'", "x", ["a", "b", "d"]],
  ['import {\n  a,\n  b, // why\n} from "x"', "x", ["a", "b"]],
  ['import type { A } from "x"', "x", ["A"]],
  ['import type A from "x"', "x", ["default"]],
  ['import * as a from "x"', "x", ["*"]],
  ['import a, { b } from "x"', "x", ["default", "b"]],
  ['import a, * as b from "x"', "x", ["default", "*"]],
  ['import "x"', "x", []],
  ['export { a as b } from "x"', "x", ["a"]],
  ['export type { A } from "x"', "x", ["A"]],
  ['export * from "x"', "x", ["*"]],
  ['const a = await import("x")', "x", ["*"]],
  ['type A = typeof import("x")', "x", ["*"]],
  ['const a = require("x")', "x", ["*"]],
  ['import data from "./a.json" with { type: "json" }', "./a.json", ["default"]],
  ['import{a}from"x"', "x", ["a"]],
]
test.each(named)("%s", (text, specifier, names) => {
  expect(scanSource(text).imports).toMatchObject([{ specifier, names }])
})

test("every import of a file is found, at its line", () => {
  const text = 'import { a } from "x"\nimport "y"\nexport const b = 1\nexport { c } from "z"\n'
  expect(specifiers(text)).toEqual(["x", "z", "y"])
  expect(scanSource(text).imports.map(found => lineOf(text, found.at))).toEqual([1, 4, 2])
})

test("what only looks like an import is none", () => {
  expect(specifiers('// import a from "x"\nconst b = \'import a from "x"\'\nArray.from("abc")\n`import "y"`')).toEqual(
    [],
  )
  expect(specifiers('import.meta.resolve("x")\nexport const from = "x"\n')).toEqual([])
})

test("regular expressions are found as they are written, divisions and comments are none", () => {
  const text = 'const a = b / c / d\n// /no/\nconst e = /x\\/[/]"y/giu.test(f) // g\nreturn /z/\n'
  expect(scanSource(text).patterns.map(({ literal }) => literal)).toEqual(['/x\\/[/]"y/giu', "/z/"])
})
