import { basename } from "node:path"
import { expect, test } from "vitest"
import { checkRooms } from "./check-rooms.ts"
import { checkName, checkSource, checkText } from "./check-tidy.ts"
import { circlesOf, importGraph } from "./import-circles.ts"
import { readText, repositoryPaths, repositorySources } from "./repository-files.ts"
import { isTest, printViolation, type Violation } from "./source-file.ts"

const paths = repositoryPaths()
const sources = repositorySources()
const listed = (violations: readonly Violation[]): string[] => violations.map(printViolation)

test("the repository is all here", () => {
  expect(paths).toContain("package.json")
  expect(sources.map(file => file.path)).toContain("tools/src/rooms/repository.test.ts")
})

test("every import enters only rooms that are open to it", () => {
  expect(listed(sources.flatMap(checkRooms))).toEqual([])
})

test("no file of the product is in a circle of imports", () => {
  const product = sources.filter(({ path }) => /^(?:apps|libs)\//.test(path) && !isTest(path))
  expect(circlesOf(importGraph(product))).toEqual([])
})

test("every source keeps the house rules", () => {
  expect(listed(sources.flatMap(checkSource))).toEqual([])
})

test("every name says what is inside", () => {
  expect(listed(paths.flatMap(checkName))).toEqual([])
})

/** The entry of a program or of a package. */
const ENTRIES: ReadonlySet<string> = new Set(["main.ts", "index.ts"])

test("a file name is enough to find a source: no two are the same", () => {
  const names = sources.map(({ path }) => basename(path)).filter(name => name.endsWith(".ts") && !ENTRIES.has(name))
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

test("no text names a machine, a registry or a download address", () => {
  expect(listed(paths.flatMap(path => checkText(path, readText(path))))).toEqual([])
})
