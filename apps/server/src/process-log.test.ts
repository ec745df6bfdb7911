/** What an error says in the process log. docs/operations.md, "Logs". */
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, onTestFinished, test } from "vitest"
import { createLogger } from "./process-log.ts"
import { StoreError } from "./store/driver/store-errors.ts"

/** The line that an error makes. */
function lineOf(err: unknown): { readonly text: string; readonly err: unknown } {
  const lines: string[] = []
  createLogger("debug", { write: line => void lines.push(line) }).error({ err }, "request failed")
  const text = lines.join("")
  return { text, err: JSON.parse(text).err }
}

const LEAKS = [`select "secret" from "run"`, `Unexpected token 'g', "geheim" is not valid JSON`]

test.each(LEAKS)("the words of a library are not told: %s", words => {
  const cause = new Error(`Failed query: ${words}\n    at /x/apps/geheim/src/select.ts:1:1`)
  cause.stack = `Error: ${cause.message}\n    at query (/x/node_modules/driver/src/query.js:1:2)`
  const { text, err } = lineOf(new TypeError(words, { cause }))
  expect(err).toMatchObject({ name: "TypeError", cause: { name: "Error" } })
  expect(text).not.toMatch(/geheim|select|stack|node_modules/)
})

test("where it happened is told by files of the service and lines in them", () => {
  const { err } = lineOf(new RangeError("x"))
  expect(err).toEqual({ name: "RangeError", at: [expect.stringMatching(/^server\/process-log\.test\.ts:\d+$/)] })
})

test("so is it where the package is in a folder of another name, as in the image", () => {
  const folder = mkdtempSync(join(tmpdir(), "runseal-places-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const dist = join(folder, "app", "dist")
  mkdirSync(dist, { recursive: true })
  cpSync(fileURLToPath(new URL("process-log.ts", import.meta.url)), join(dist, "process-log.ts"))
  symlinkSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)), join(folder, "node_modules"))
  const program = `import { createLogger } from "./process-log.ts"\ncreateLogger("info").error({ err: new Error("x") })\n`
  writeFileSync(join(dist, "program.ts"), program)
  const { stdout } = spawnSync(process.execPath, [join(dist, "program.ts")], { encoding: "utf8" })
  expect(JSON.parse(stdout).err).toEqual({ name: "Error", message: "x", at: ["server/program.ts:2"] })
})

test("the sentences of the service's own errors are told, with their codes", () => {
  const { err } = lineOf(new StoreError("rolled_back", { sqlstate: "23514" }))
  expect(err).toMatchObject({
    name: "StoreError",
    code: "23514",
    message: "The database refused the transaction; nothing was written.",
  })
})

test("a sentence that the service's own code throws is told; the system's is not", () => {
  expect(lineOf(new Error("a batch has a head")).err).toMatchObject({ message: "a batch has a head" })
  const refused = Object.assign(new Error("ENOENT: no such file or directory, open 'geheim'"), { code: "ENOENT" })
  expect(lineOf(refused).err).toEqual({ name: "Error", code: "ENOENT", at: [expect.any(String)] })
})

test("what is no error is told by its type, and a chain of causes ends", () => {
  expect(lineOf("geheim").err).toEqual({ name: "string" })
  const endless: Error = new Error("x")
  endless.cause = endless
  expect(lineOf(endless).text.length).toBeLessThan(2000)
})
