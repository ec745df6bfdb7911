import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { canonicalize, digest, utf8Encode } from "@runseal/canonical"
import reference from "canonicalize"
import * as v from "valibot"
import { describe, expect, test } from "vitest"
import { actTableSchema } from "../src/act/act-table.ts"
import { ACT_PROBLEMS } from "../src/act/act-value.ts"
import { actReader, type ReadAct, readAct } from "../src/act/read-act.ts"
import { DECLARED_NAMES } from "../src/artifacts/declared-sections.ts"
import { reduce, withholdSections } from "../src/derivation/derive.ts"
import { cedarRequest, contextHash } from "../src/formulas/policy-context.ts"
import { readForms } from "../src/verify/bundle-forms.ts"
import { foldExport } from "../src/verify/completeness.ts"
import { isUnreadable, KINDS, verifyText } from "../src/verify/document.ts"
import { CHECK_IDS } from "../src/verify/report.ts"
import { OUTCOME_KINDS } from "../src/vocabulary/outcomes.ts"
import { trusted } from "./fixtures/deployment.ts"
import { allVectors } from "./fixtures/vectors/all-vectors.ts"
import { derivedFrom } from "./fixtures/vectors/derivation-vectors.ts"

const FOLDER = fileURLToPath(new URL("../vectors/", import.meta.url))
const read = (path: string): string => readFileSync(`${FOLDER}${path}`, "utf8")
const published = readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
  .map(path => path.replaceAll("\\", "/"))
  .filter(path => /\.(?:json|ndjson)$/.test(path))
  .sort()
const inFolder = (folder: string): readonly string[] => published.filter(path => path.startsWith(`${folder}/`))

const readme = read("README.md")
/** The rows of the README's tables of documents: file, verdict, first failing check. */
const promised = new Map(
  [...readme.matchAll(/^\| \[([^\]]+)\]\([^)]+\) \| ([^|]+) \| ([^|]+) \| [^|]+ \|$/gm)].map(
    ([, path = "", verdict = "", failure = ""]) => [path, { verdict, failure }] as const,
  ),
)

describe.each(["formulas", "leaves"])("the vectors in %s", folder => {
  test.each(inFolder(folder))("%s: canonical form and hash are those of the preimage", path => {
    const { preimage, canonical, hash, ...names } = JSON.parse(read(path))
    expect(canonicalize(preimage)).toBe(canonical)
    expect(digest(preimage)).toBe(hash)
    expect(reference(preimage)).toBe(canonical)
    expect(createHash("sha256").update(canonical).digest("hex")).toBe(hash)
    expect(Object.keys(names)).toEqual(["name", "formats_section"])
    expect(path).toBe(`${folder}/${names.name}.json`)
  })
})

test("every preimage names the section of docs/formats.md that says what it holds", () => {
  const page = readFileSync(new URL("../../../docs/formats.md", import.meta.url), "utf8")
  const headings = [...page.matchAll(/^#+ [\d.]+ (.+)$/gm)].map(([, heading]) => heading)
  const named = [...inFolder("formulas"), ...inFolder("leaves")].map(path => JSON.parse(read(path)).formats_section)
  expect(named.filter(heading => !headings.includes(heading))).toEqual([])
})

/** A released derivation never changes: another one has another name, and a file of its own. */
const DERIVATION_V2_SHA256 = "9e12c3a638412f3a9de8f2d4ceaa2af0d103fc44d3e15bbd124eb7db9b26e0da"

describe("the derivation vfa.derivation.v2", () => {
  const text = read("derivation-v2.json")
  const frozen: Readonly<Record<string, object>> = JSON.parse(text)

  test("has the vectors that it was released with", () => {
    expect(createHash("sha256").update(text).digest("hex")).toBe(DERIVATION_V2_SHA256)
    expect(Object.keys(frozen)).toEqual(expect.arrayContaining([...inFolder("bundles/valid")]))
  })

  test.each(Object.entries(frozen))("gives for %s what it gave", (path, expected) => {
    expect(derivedFrom(read(path))).toEqual(expected)
  })

  test.each(DECLARED_NAMES)("gives the same with %s withheld", name => {
    const forms = readForms(JSON.parse(read("bundles/valid/ok-hostile-content.json")))
    if ("unreadable" in forms) throw new Error(forms.unreadable)
    const withheld = canonicalize(reduce(withholdSections(forms.bundle, [name])))
    expect(derivedFrom(withheld)).toEqual(frozen["bundles/valid/ok-hostile-content.json"])
  })
})

const FOLDERS = ["bundles", "receipts", "attestations", "requests", "openings", "ends", "events", "statements"]

describe.each(FOLDERS)("the vectors in %s", folder => {
  const trust = trusted(JSON.parse(read("trust.json")))
  test.each(inFolder(folder))("%s gets the verdict that the README gives it", path => {
    const report = verifyText(readFileSync(`${FOLDER}${path}`), [trust])
    const found = isUnreadable(report)
      ? { verdict: "unreadable", failure: "–" }
      : { verdict: report.verdict, failure: report.first_failure ?? "–" }
    expect(found).toEqual(promised.get(path))
  })

  test.each(inFolder(`${folder}/valid`))("%s verifies with its own trust document only", path => {
    const report = verifyText(read(path), [])
    const needsKey = /VERIFIED|SIGNED/.test(promised.get(path)?.verdict ?? "")
    expect(report).toMatchObject({ verdict: needsKey ? "FAILED" : promised.get(path)?.verdict })
  })
})

test("every kind of document has a vector that is one", () => {
  const lines = [...FOLDERS, "exports"]
    .flatMap(folder => inFolder(`${folder}/valid`))
    .map(path => read(path).split("\n", 1)[0])
  const values = lines.map(line => JSON.parse(line ?? ""))
  const without = KINDS.filter(({ recognizes }) => !values.some(value => recognizes(value)))
  expect(without.map(({ document }) => document)).toEqual([])
})

describe("acts.json", () => {
  const { table, readings } = JSON.parse(read("acts.json"))
  const reader = actReader(v.parse(actTableSchema, table))
  test.each<{ says: string; payload: string }>(readings)("$says", ({ says: _says, payload, ...expected }) => {
    expect(readAct(reader, payload)).toEqual(expected)
  })

  test("has every problem of one payload but the lengths", () => {
    const found = readings.flatMap(({ unreadable }: ReadAct) => unreadable.map(({ problem }) => problem))
    expect(ACT_PROBLEMS.filter(problem => !found.includes(problem))).toEqual(["too_long", "too_many"])
  })
})

test("what policy_context commits to is what the engine is asked", () => {
  const { preimage, hash } = JSON.parse(read("formulas/policy_context.json"))
  const { sections } = JSON.parse(read("bundles/valid/ok-act.json"))
  const { principal, resource, context } = preimage.request
  const facts = {
    program_id: resource.id,
    route_id: context.bound.route_id,
    registry_record_hash: sections.envelope.registry_record_hash,
    tenant_id: principal.id,
    execution_region: "eu-central",
    admission_clock: sections.envelope.admission_clock,
    payload_bytes: 1,
    has_ai_output: false,
    tokens: 0,
    declared: {},
  }
  const act = { name: sections.act.table, values: sections.act.values }
  const request = cedarRequest(facts, act, new Set(["act.amount", "act.currency", "bound.route_id"]))
  expect(request).toEqual(preimage.request)
  expect(contextHash(request, { act: sections.act.salt })).toBe(hash)
})

describe("the exports", () => {
  const trust = trusted(JSON.parse(read("trust.json")))
  test.each(inFolder("exports"))("%s is as complete as the README says, and fails where it says", path => {
    const fold = foldExport([trust])
    const lines = read(path).trimEnd().split("\n")
    for (const [at, line] of lines.entries()) fold.take(at + 1, utf8Encode(line))
    const found = fold.end()
    const { verdict, failure = "" } = promised.get(path) ?? {}
    if ("unreadable" in found) expect({ verdict, failure }).toEqual({ verdict: "unreadable", failure: "–" })
    else {
      expect(found.verdict).toBe(verdict)
      // The row gives the beginning of the sentence.
      expect((found.problems[0]?.sentence ?? "–").startsWith(failure)).toBe(true)
    }
  })
})

/** Files that the README explains by themselves. */
const ALONE = ["trust.json", "acts.json", "derivation-v2.json"]

describe("the published vectors", () => {
  test("are all in the README, and it names no other", () => {
    const links = [...readme.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\)/gm)].map(([, name, target]) => {
      expect(name).toBe(target)
      return name
    })
    expect(links.sort()).toEqual(published.filter(path => !ALONE.includes(path)))
  })

  test("cover every outcome, verified and forged", () => {
    const outcomes = inFolder("bundles/valid").map(path => JSON.parse(read(path)).run.outcome_kind)
    expect(new Set(outcomes)).toEqual(new Set(OUTCOME_KINDS))
    const failures = inFolder("bundles/invalid").map(path => promised.get(path)?.failure)
    // Vectors of 1.0.0 are in the service's own log alone.
    const own = CHECK_IDS.filter(id => id !== "outside")
    expect(new Set(failures)).toEqual(new Set([...own, "–"]))
  })

  test("cover every kind and version that the formulas write", () => {
    const folder = new URL("../src/formulas/", import.meta.url)
    const written = readdirSync(folder).flatMap(file => [
      ...readFileSync(new URL(file, folder), "utf8").matchAll(/"(vfa\.[a-z0-9_]+\.v\d+)"/g),
    ])
    const preimages = [...inFolder("formulas"), ...inFolder("leaves")].map(path => JSON.parse(read(path)).preimage)
    const covered = preimages.map(({ kind, version, leaf_version }) => kind ?? version ?? leaf_version)
    expect(written.map(([, name]) => name).filter(name => !covered.includes(name))).toEqual([])
    expect(covered).toContain("vfa.leaf.v7")
  })

  test("are what the fixtures make, byte for byte: every formula is as it was when they were published", () => {
    const { files, readme: text } = allVectors()
    expect(files.filter(file => !existsSync(`${FOLDER}${file.path}`)).map(file => file.path)).toEqual([])
    expect(files.filter(file => read(file.path) !== file.text).map(file => file.path)).toEqual([])
    expect(text).toBe(readme)
  })
})
