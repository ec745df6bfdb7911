import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { checkName, checkSource, checkText } from "./check-tidy.ts"
import { repositoryPaths } from "./repository-files.ts"
import { printViolation, sourceFile } from "./source-file.ts"

const LIBRARY = "libs/core/src/formulas/seal.ts"
const TEST = "libs/core/src/formulas/seal.test.ts"
const APP = "apps/server/src/app.ts"

const rulesBroken = (path: string, text: string): string[] =>
  checkSource(sourceFile(path, text)).map(found => found.rule)

describe("refused in sources", () => {
  const refused: readonly (readonly [rule: string, path: string, text: string])[] = [
    ["no request is sent but by the HTTP clients, which bound it", APP, "await fetch(url)"],
    ["no request is sent but by the HTTP clients, which bound it", APP, "globalThis.fetch(url)"],
    ["no request is sent but by the HTTP clients, which bound it", LIBRARY, "new WebSocket(url)"],
    ["SQL is in the store alone", APP, "await tx.sql`select 1`"],
    ["SQL is in the store alone", APP, "const rows = await sql<{ waiting: boolean | null }[]>`select 1`"],
    ["SQL is in the store alone", APP, "await session.sql.unsafe(text)"],
    ["a secret is looked up by its hash, or compared in constant time", APP, "if (secret === given) a()"],
    ["a secret is looked up by its hash, or compared in constant time", APP, "return hash !== key.secret_hash"],
    ["no decorator", APP, "class AError extends Error {\n  @logged\n  a() {}\n}"],
    ["no class but errors", APP, "class Stage {}"],
    ["no class but errors", APP, "export class Stage<T> extends Base<T> {"],
    ["no class but errors", APP, "export abstract class Stage implements Error {"],
    ["no class but errors", APP, "const Stage = class {}"],
    ["no class but errors", APP, "class StageError {}"],
    ["no silenced compiler, nor a rule of the house that the linter has", APP, "// @ts-ignore\na()"],
    ["no silenced compiler, nor a rule of the house that the linter has", TEST, "/* @ts-expect-error */"],
    [
      "no silenced compiler, nor a rule of the house that the linter has",
      APP,
      "// biome-ignore lint/style/noEnum: it is short",
    ],
    ["no note to self", APP, "// TODO later"],
    ["no note to self", APP, "/** FIXME */"],
    ["no focused, skipped or empty test (skipIf says why)", TEST, 'test.only("a", () => {})'],
    ["no focused, skipped or empty test (skipIf says why)", TEST, 'describe.skip("a", () => {})'],
    ["no focused, skipped or empty test (skipIf says why)", TEST, 'test.todo("a")'],
    ["no focused, skipped or empty test (skipIf says why)", TEST, 'it.concurrent.skip("a", () => {})'],
    ["no focused, skipped or empty test (skipIf says why)", TEST, 'test.skip.each([1])("a", () => {})'],
    ["no focused, skipped or empty test (skipIf says why)", TEST, 'xit("a", () => {})'],
    ["no clock in a library: time is an argument", LIBRARY, "const now = Date.now()"],
    ["no clock in a library: time is an argument", LIBRARY, "const now = new Date( )"],
    ["no clock in a library: time is an argument", LIBRARY, "const now = new Date\n"],
    ["no clock in a library: time is an argument", LIBRARY, "const now = performance.now()"],
    ["no randomness in a library: it is an argument", LIBRARY, "const a = Math.random()"],
    ["no randomness in a library: it is an argument", LIBRARY, "crypto.getRandomValues(bytes)"],
    ["length: 601 lines, more than 600", APP, "a()\n".repeat(601)],
    ["length: 601 lines, more than 600", APP, `${"a()\n".repeat(600)}a()`],
    ["length: 501 lines, more than 500", TEST, "a()\n".repeat(501)],
    ["name: an index hides structure; import the file that has the code", "libs/core/src/index.ts", "a()"],
  ]
  test.each(refused)("%s: %s %j", (rule, path, text) => {
    expect(rulesBroken(path, text)).toEqual([rule])
  })
})

describe("accepted in sources", () => {
  const accepted: readonly (readonly [path: string, text: string])[] = [
    [APP, "export class StageError extends Error {}"],
    [APP, "class BudgetError extends StageError<Detail> implements Position {"],
    [APP, "const className = a.class"],
    [APP, "// a class of errors"],
    [APP, 'const text = "TODO class A {}"'],
    [APP, "const now = Date.now(); Math.random()"],
    [APP, "if (secret === undefined || isSecret(text)) a(secretHash(secret)); app.fetch(request)"],
    ["apps/verifier-cli/src/read-input.ts", "await fetch(url)"],
    [TEST, "await fetch(url); expect(secret === other)"],
    [APP, "a()\n".repeat(600)],
    [TEST, "class Point {}"],
    ["vitest.config.ts", "class LongestFirst extends BaseSequencer {"],
    [TEST, "a()\n".repeat(500)],
    [TEST, 'test.skipIf(!present)("a", () => {}); test.each([1])("a", () => {})'],
    [TEST, "list.skip(1); list.only; cursor.skip()"],
    [TEST, "const now = Date.now()"],
    [LIBRARY, "const at = new Date(moment.at).toISOString()"],
    [LIBRARY, "function f(now: Date): Date { return new Date(now) }"],
    ["libs/canonical/src/index.ts", 'export { a } from "./a.ts"'],
  ]
  test.each(accepted)("%s %j", (path, text) => {
    expect(rulesBroken(path, text)).toEqual([])
  })
})

describe("names", () => {
  test.each([
    "libs/core/src/utils/a.ts",
    "libs/core/src/types.ts",
    "apps/server/src/shared/a.ts",
    "tools/src/helpers.test.ts",
  ])("%s is refused", path => {
    expect(checkName(path)).toHaveLength(1)
  })
  test.each(["libs/core/src/content-types.ts", "docs/commons.md", "libs/core/src/verify/typescript.ts"])(
    "%s is accepted",
    path => {
      expect(checkName(path)).toEqual([])
    },
  )
})

describe("text files", () => {
  const home = ["", "home", "ann", "a.json"].join("/")
  const registry = ["registry", "npmjs", "org"].join(".")
  const refused: readonly (readonly [path: string, text: string])[] = [
    ["docs/a.md", `See ${home}`],
    ["docs/a.md", `(${["", "work", "main"].join("/")})`],
    ["docs/a.md", `\`${["C:", "Users", "ann"].join("\\")}\``],
    ["README.md", `npm --registry https://${registry}/`],
    ["package-lock.json", '{"resolved": "https://example.org/a.tgz"}'],
  ]
  test.each(refused)("%s: %j is refused", (path, text) => {
    expect(checkText(path, text)).toHaveLength(1)
  })
  const accepted: readonly (readonly [path: string, text: string])[] = [
    ["docs/a.md", "libs/home/a.ts, https://example.org/home/ann, ./root/a, /log/checkpoint"],
    ["apps/server/src/policy/signature-samples.json", home],
    ["package-lock.json", '{"resolved": "libs/core", "link": true}'],
    ["docs/a.json", '{"resolved": "https://example.org/a.tgz"}'],
  ]
  test.each(accepted)("%s: %j is accepted", (path, text) => {
    expect(checkText(path, text)).toEqual([])
  })
})

test("a violation is printed as file:line rule, at the line it is on", () => {
  const found = checkSource(sourceFile(APP, "a()\n\n  // TODO\nclass A {}\n"))
  expect(found.map(printViolation)).toEqual([`${APP}:4 no class but errors`, `${APP}:3 no note to self`])
})

test("without git the files are found by walking, ignored folders left out", () => {
  const root = mkdtempSync(join(tmpdir(), "rooms-"))
  try {
    for (const folder of ["libs/core/src", "node_modules/a", "libs/core/dist"]) {
      mkdirSync(join(root, folder), { recursive: true })
      writeFileSync(join(root, folder, "a.ts"), "")
    }
    expect(repositoryPaths(root)).toEqual(["libs/core/src/a.ts"])
  } finally {
    rmSync(root, { recursive: true })
  }
})
