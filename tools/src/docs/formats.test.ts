import { readFileSync } from "node:fs"
import { digest, type JsonValue, parseStrictJson } from "@runseal/canonical"
import { SECTION_SCHEMAS } from "@runseal/core/artifacts/section-schemas"
import { runStatement } from "@runseal/core/formulas/run-statement"
import { manifestHash, sealHash } from "@runseal/core/formulas/seal"
import { parseTrust } from "@runseal/core/transparency-log/trust-document"
import { readBundle, verifyDocument } from "@runseal/core/verify/document"
import { FINDING_IDS, VERDICTS } from "@runseal/core/verify/report"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { RECEIPT_KEYS } from "@runseal/core/vocabulary/outcomes"
import * as versions from "@runseal/core/vocabulary/versions"
import { expect, test } from "vitest"
import { at, FORMATS, markedExamples, put } from "./marked-examples.ts"

const page = readFileSync(FORMATS, "utf8")
const examples = markedExamples(page).map(marked => ({ ...marked, value: parseStrictJson(marked.json) }))
const parts = examples.filter(({ kind }) => kind === "part")
const preimages = examples.filter(({ kind }) => kind === "preimage")

/** What the page shows of an example's bundle. */
const shown = (example: string): JsonValue =>
  parts
    .filter(part => part.example === example)
    .reduce<JsonValue>((bundle, { path, value }) => put(bundle, path, value), { kind: versions.BUNDLE_KIND })

test("the parts of the first run, put together, are a bundle that verifies against the trust document shown", () => {
  const trust = parseTrust(examples.find(({ kind }) => kind === "trust")?.value ?? null)
  expect(trust).not.toHaveProperty("problem")
  expect(verifyDocument(shown("first-run"), "problem" in trust ? [] : [trust])).toMatchObject({
    verdict: VERDICTS.complete,
  })
})

test.each(parts.map(({ example, path, value }) => ({ example, path, value })))(
  "$example $path matches the hash it shows",
  ({ path, value }) => {
    const sealed = isObject(value) ? value : {}
    const stated = sealed.ManifestHash ?? sealed.hash
    const recomputed = sealed.ManifestHash === undefined ? sealHash(sealed) : manifestHash(sealed)
    const hasHash = path.startsWith("sections.") || /(receipt|token|manifest)$/.test(path)
    expect(stated).toBe(hasHash ? recomputed : undefined)
  },
)

test.each(preimages.map(({ example, path, value }) => ({ example, path, value })))(
  "the preimage of $example $path gives what stands there",
  ({ example, path, value }) => {
    const stated = at(shown(example), path)
    const [, prefix = "", digits = ""] = /^([a-z]+-)?([0-9a-f]+)$/.exec(typeof stated === "string" ? stated : "") ?? []
    expect(digits.length).toBeGreaterThanOrEqual(16)
    expect(stated).toBe(`${prefix}${digest(value).slice(0, digits.length)}`)
  },
)

test("the run statement of the first run is what its bundle gives, every field explained", () => {
  const [marked] = examples.filter(({ kind }) => kind === "statement")
  const bundle = shown("first-run")
  const record = isObject(bundle) ? readBundle(bundle) : undefined
  if (record === undefined || "unreadable" in record) throw new Error("the page shows no bundle")
  expect(marked?.value).toEqual(runStatement(record))
  const chapter = page.slice(page.indexOf("\n## 14 Run statement"), page.indexOf("\n## 15 Trust document"))
  for (const name of Object.keys(runStatement(record)?.predicate ?? {})) expect(chapter).toContain(`\`${name}\``)
})

test("every section and every receipt has its example", () => {
  const paths = parts.map(({ path }) => path)
  for (const name of Object.keys(SECTION_SCHEMAS)) expect(paths).toContain(`sections.${name}`)
  for (const key of RECEIPT_KEYS) expect(paths).toContain(key)
})

/** Fields with a row of their own nowhere, as the page says. */
const EVERYWHERE = ["kind", "version", "hash", "envelope_id"]

test.each(parts.map(({ example, path, json, value }) => ({ example, path, json, value })))(
  "every field of $example $path is explained where it is shown",
  ({ path, json, value }) => {
    const before = page.slice(0, page.indexOf(json))
    const [chapter = ""] = page.slice(before.search(/\n##+ [^\n]*\n(?![\s\S]*\n##+ )/) + 1).split(/\n(?=##+ )/)
    const fields = isObject(value) && !path.startsWith("sections.leakage") ? Object.keys(value) : []
    for (const field of fields.filter(name => !EVERYWHERE.includes(name) || path.endsWith("leaf")))
      expect(chapter).toContain(`\`${field}\``)
  },
)

test("every version marker, check and verdict is on the page", () => {
  const markers = Object.values(versions)
    .flat()
    .filter(value => typeof value === "string" && value.startsWith("vfa."))
  for (const text of [...markers, ...FINDING_IDS, ...Object.values(VERDICTS)]) expect(page).toContain(text)
})
