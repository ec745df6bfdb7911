import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { writeVectors } from "./make-vectors.ts"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "runseal-vectors-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const ONE = { path: "formulas/one.json", text: "1\n" }
const TWO = { path: "bundles/valid/two.json", text: "2\n" }
const read = (path: string): string => readFileSync(join(folder, path), "utf8")

test("vectors that are not there yet are written, with their folders", () => {
  expect(writeVectors(folder, [ONE, TWO])).toEqual({ added: [ONE.path, TWO.path], refused: [] })
  expect([read(ONE.path), read(TWO.path)]).toEqual([ONE.text, TWO.text])
})

test("vectors that are there stay as they are", () => {
  writeVectors(folder, [ONE])
  expect(writeVectors(folder, [ONE, TWO])).toEqual({ added: [TWO.path], refused: [] })
  expect(writeVectors(folder, [ONE, TWO])).toEqual({ added: [], refused: [] })
})

test("when one would change, it is refused and nothing is written", () => {
  writeVectors(folder, [ONE])
  expect(writeVectors(folder, [{ ...ONE, text: "1 \n" }, TWO])).toEqual({ added: [], refused: [ONE.path] })
  expect(read(ONE.path)).toBe(ONE.text)
  expect(readdirSync(folder)).toEqual(["formulas"])
})

test("a vector that is no longer made stays", () => {
  writeVectors(folder, [ONE])
  writeFileSync(join(folder, "formulas/older.json"), "0\n")
  expect(writeVectors(folder, [ONE])).toEqual({ added: [], refused: [] })
  expect(read("formulas/older.json")).toBe("0\n")
})
