/** What is large is read in bounded memory, whatever its shape, and lines without anything on them cost nothing. */
import { spawnSync } from "node:child_process"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { DEFAULT_MAX_BYTES } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
/** A sealed record, as one line. */
const BUNDLE = new URL("../../../../libs/core/vectors/bundles/valid/ok-full.json", import.meta.url)
const bundle = JSON.stringify(JSON.parse(readFileSync(BUNDLE, "utf8")))
const folder = testFolder("runseal-large")

/** Resident memory of a run of the command at most, in KiB. */
const MAX_RESIDENT_KIB = 600 * 1024
/** A run takes two seconds, where others need the machine as well ten. */
const DEADLINE_MS = 120_000
/**
 * Makes a process print its peak memory when it ends. On Linux it is the high-water mark of the program itself: `maxRSS` also counts what the process that starts it has in memory, until the program
 * takes its place (getrusage(2), proc_pid_status(5)).
 */
const PRINT_MEMORY = `import { existsSync, readFileSync } from "node:fs"
const OWN = "/proc/self/status"
const resident = () =>
  existsSync(OWN) ? /VmHWM:\\s+(\\d+)/.exec(readFileSync(OWN, "utf8"))?.[1] : process.resourceUsage().maxRSS
process.on("exit", () => process.stderr.write("\\nresident " + resident()))`

function run(name: string, text: string, ...flags: string[]) {
  const path = join(folder, name)
  writeFileSync(path, text)
  const options = ["--import", `data:text/javascript,${encodeURIComponent(PRINT_MEMORY)}`, MAIN, path, ...flags]
  const { status, stdout, stderr } = spawnSync(process.execPath, options, { encoding: "utf8", timeout: DEADLINE_MS })
  rmSync(path)
  return { status, output: `${stdout}${stderr}`, residentKiB: Number(/resident (\d+)/.exec(stderr)?.[1]) }
}

const filled = (unit: string, bytes: number): string => unit.repeat(Math.floor(bytes / unit.length))
/** A record that holds a text of its own, as the longest document that is read. */
const recordWith = (text: string): string => bundle.replace('"declared":{', () => `"declared":{"":"${text}",`)

describe("a document of 64 MiB", { timeout: 2 * DEADLINE_MS }, () => {
  const most = DEFAULT_MAX_BYTES - 100_000
  test.each([
    ["empty arrays", () => `[${filled("[],", most)}1]`, "too many values and keys"],
    ["empty objects", () => `[${filled("{},", most)}1]`, "too many values and keys"],
    ["numbers", () => `[${filled("1,", most)}1]`, "too many values and keys"],
    ["one long text", () => recordWith(`€${filled("a", most)}`), "held against no key you trust"],
    ["escapes", () => recordWith(filled("\\u0001", most)), "held against no key you trust"],
  ])("of %s", (_, text, expected) => {
    const ran = run("document.json", text())
    expect(ran.output).toContain(expected)
    expect(ran.residentKiB).toBeLessThan(MAX_RESIDENT_KIB)
  })
})

describe("64 MiB of lines without anything on them", { timeout: 2 * DEADLINE_MS }, () => {
  test.each([
    ["empty", "\n"],
    ["ended as on Windows", "\r\n"],
    ["of spaces", "  \n"],
  ])("%s", (_, line) => {
    const blank = filled(line, DEFAULT_MAX_BYTES)
    const since = performance.now()
    const ran = run("stream.ndjson", `${blank}${bundle}\n${blank}`)
    expect(ran.output).toContain("OF 1 DOCUMENT")
    expect(run("export.ndjson", blank, "--complete").output).toContain("it is empty")
    // Four seconds alone; a step for each line took minutes.
    expect(performance.now() - since).toBeLessThan(60_000)
    expect(ran.residentKiB).toBeLessThan(MAX_RESIDENT_KIB)
  })
})
