/** `verifier expand` and `verifier withhold` as a user runs them, on the published records of every outcome. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { DECLARED_NAMES } from "@runseal/core/artifacts/declared-sections"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import { describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { parseTrustFile } from "../../src/trust-store.ts"

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
const VECTORS = fileURLToPath(new URL("../../../../libs/core/vectors/", import.meta.url))
const VALID = join(VECTORS, "bundles/valid")
const TRUST = ["--trust", join(VECTORS, "trust.json")]

const trust = parseTrustFile(readFileSync(join(VECTORS, "trust.json")), "trust.json").keys

const folder = testFolder("runseal-forms")

type Ended = { readonly stdout: string; readonly stderr: string; readonly status: number | null }

function verifier(words: readonly string[], input?: string): Ended {
  const env = { ...process.env, RUNSEAL_TRUST_DIR: join(folder, "trust") }
  return spawnSync(process.execPath, [MAIN, ...words], {
    encoding: "utf8",
    env,
    ...(input === undefined ? {} : { input }),
  })
}

const stored = (name: string): string => readFileSync(join(VALID, `${name}.json`), "utf8").trimEnd()
function verdictOf(text: string): string {
  const report = verifyText(text, [trust])
  return isUnreadable(report) ? report.unreadable : report.verdict
}
/** The six outcomes besides those that have their own tests, and records with withheld sections and hostile texts. */
const NAMES = [
  "ok-hostile-content",
  "deny-mcd",
  "ccv-halt",
  "macc-halt",
  "aivp-t4-halt",
  "attestation-gap",
  "stage-error-zksp",
  "one-section-withheld",
  "deny-unanchored",
  "ok-act",
  "act-withheld",
]

test("the records below are of every outcome", () => {
  expect(new Set(NAMES.map(name => JSON.parse(stored(name)).run.outcome_kind))).toEqual(new Set(OUTCOME_KINDS))
})

describe.each(NAMES)("%s", name => {
  test("in full it verifies like the sealed form, and gives that again", () => {
    const full = verifier(["expand", join(VALID, `${name}.json`), ...TRUST])
    expect(full).toMatchObject({ status: 0, stderr: expect.stringContaining(verdictOf(stored(name))) })
    expect(JSON.parse(full.stdout).kind).toBe("vfa.bundle_view.v1")
    expect(verdictOf(full.stdout)).toBe(verdictOf(stored(name)))
    const words = ["-", "--section", "causal_graph", ...TRUST]
    expect(verifier(["withhold", ...words], full.stdout).stdout).toBe(
      verifier(["withhold", ...words], stored(name)).stdout,
    )
  })

  test("with every section withheld it is the same record, and nothing that was declared is in it", () => {
    const out = join(folder, `${name}.json`)
    const sections = DECLARED_NAMES.flatMap(section => ["--section", section])
    expect(verifier(["withhold", join(VALID, `${name}.json`), ...sections, "--out", out, ...TRUST])).toMatchObject({
      status: 0,
      stdout: "",
    })
    const text = readFileSync(out, "utf8")
    expect(verdictOf(text)).toBe(verdictOf(stored(name)))
    const [whole, left] = [JSON.parse(stored(name)), JSON.parse(text)]
    expect(left.bundle_hash).toBe(whole.bundle_hash)
    for (const section of DECLARED_NAMES) {
      const { kind, hash } = whole.sections[section]
      expect(left.sections[section]).toEqual({ kind, withheld: true, hash })
      if (whole.sections[section].salt !== undefined) expect(text).not.toContain(whole.sections[section].salt)
    }
  })
})

const withheld = (name: string): string =>
  verifier(["withhold", "-", "--section", name, ...TRUST], stored("ok-full")).stdout
const texts = (value: unknown): readonly string[] =>
  typeof value === "string" ? [value] : Object.values(value ?? {}).flatMap(texts)

test.each(DECLARED_NAMES)("no text of %s is in the record that withholds it", name => {
  const whole = JSON.parse(stored("ok-full"))
  const { [name]: section, ...others } = whole.sections
  const elsewhere = JSON.stringify([whole.run, others, whole.manifest])
  const own = texts(section.declared).filter(text => text.length > 3 && !elsewhere.includes(text))
  expect(own.length).toBeGreaterThan(0)
  expect(own.filter(text => withheld(name).includes(text))).toEqual([])
})

test("an act is withheld as a declared section is", () => {
  expect(verifier(["withhold", "-", "--section", "act", ...TRUST], stored("ok-act")).stdout.trimEnd()).toBe(
    stored("act-withheld"),
  )
})

test("sections withheld one after the other, in any order, are those withheld at once", () => {
  const [one, other] = ["causal_graph", "request_substance"]
  const words = (...names: readonly string[]): readonly string[] => names.flatMap(name => ["--section", name])
  const again = (text: string, name: string): string =>
    verifier(["withhold", "-", ...words(name), ...TRUST], text).stdout
  const both = verifier(["withhold", "-", ...words(one, other, one), ...TRUST], stored("ok-full")).stdout
  expect(again(withheld(one), other)).toBe(both)
  expect(again(withheld(other), one)).toBe(both)
  expect(again(both, one)).toBe(both)
})

test.each(["ok-full", "aivp-t4-halt", "every-section-withheld"])("%s in full is the published text", name => {
  expect(verifier(["expand", join(VALID, `${name}.json`), ...TRUST]).stdout).toBe(stored(`full-form-of-${name}`))
})

describe("what is not written", () => {
  const out = join(folder, "not-written.json")
  test.each([
    ["derivation-unknown", 2],
    ["withheld-results-of-a-shown-section", 2],
    ["declared-text", 1],
    ["named-section-changed", 1],
    ["full-form-with-another-finding", 1],
    ["withheld-output-changed", 1],
  ])("%s: exit %i", (name, status) => {
    for (const [command, ...more] of [["expand"], ["withhold", "--section", "causal_graph"]] as const) {
      const words = [command, join(VECTORS, "bundles/invalid", `${name}.json`), ...more, "--out", out, ...TRUST]
      expect(verifier(words)).toMatchObject({ status, stdout: "", stderr: expect.stringMatching(/^verifier: .+\n$/) })
      expect(existsSync(out)).toBe(false)
    }
  })

  test("a changed section is not withheld, which would hide the change", () => {
    const record = JSON.parse(stored("ok-full"))
    record.sections.causal_graph.declared = { changed: true }
    const ended = verifier(["withhold", "-", "--section", "causal_graph", ...TRUST], JSON.stringify(record))
    expect(ended).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("section causal_graph") })
  })

  test("a file that is there is left, unless --force is given", () => {
    writeFileSync(out, "kept")
    const words = ["expand", join(VALID, "ok-full.json"), "--out", out, ...TRUST]
    expect(verifier(words)).toMatchObject({ status: 2, stderr: expect.stringContaining("add --force") })
    expect(readFileSync(out, "utf8")).toBe("kept")
    expect(verifier([...words, "--force"])).toMatchObject({ status: 0 })
    expect(readFileSync(out, "utf8")).toBe(stored("full-form-of-ok-full"))
  })
})

test.each(["folder", "link"])("a %s is not replaced, even with --force", kind => {
  const out = join(folder, kind)
  if (kind === "folder") mkdirSync(out)
  else symlinkSync("/dev/null", out)
  const ended = verifier(["expand", "-", "--out", out, "--force", ...TRUST], stored("ok-full"))
  expect(ended).toMatchObject({ status: 2, stderr: `verifier: ${out} is no plain file, and is not replaced.\n` })
})

test("without a trusted key a record is written, and that is said", () => {
  const ended = verifier(["expand", "-"], stored("ok-full"))
  expect(ended).toMatchObject({ status: 0, stdout: stored("full-form-of-ok-full") })
  expect(ended.stderr).toContain("NOT TRUSTED: you trust no key of the service")
})
