import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { canonicalize, digest, utf8Encode } from "@runseal/canonical"
import reference from "canonicalize"
import { describe, expect, test } from "vitest"
import { DECLARED_NAMES } from "../src/artifacts/declared-sections.ts"
import { reduce, withholdSections } from "../src/derivation/derive.ts"
import { foldExport } from "../src/verify/completeness.ts"
import { isUnreadable, readForms, verifyText } from "../src/verify/document.ts"
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
const DERIVATION_V2_SHA256 = "755742ae3ea505c6aa4490c82e3e694ee6652b33ff4694b8d0c47d14cf48c19e"

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

const FOLDERS = ["bundles", "receipts", "attestations", "openings", "ends", "events", "statements"]

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
const ALONE = ["trust.json", "derivation-v2.json"]

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
