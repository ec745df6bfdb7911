import { readdirSync, readFileSync } from "node:fs"
import { type JsonObject, type JsonValue, parseStrictJson } from "@runseal/canonical"
import * as adminEvent from "@runseal/core/artifacts/admin-event"
import * as opening from "@runseal/core/artifacts/opening"
import * as permitEnd from "@runseal/core/artifacts/permit-end"
import { SECTION_SCHEMAS } from "@runseal/core/artifacts/sections"
import { runStatement } from "@runseal/core/formulas/run-statement-text"
import { readBundle } from "@runseal/core/verify/bundle-forms"
import { COMPLETENESS_VERDICTS } from "@runseal/core/verify/completeness"
import { FINDING_IDS, VERDICTS } from "@runseal/core/verify/report"
import { isObject, member } from "@runseal/core/vocabulary/json-members"
import {
  GATES,
  isRefused,
  KERNELS,
  matchSentence,
  OUTCOME_KINDS,
  OUTCOMES,
  RECEIPT_KEYS,
  STAGES,
} from "@runseal/core/vocabulary/outcomes"
import * as versions from "@runseal/core/vocabulary/versions"
import { expect, test } from "vitest"

const page = readFileSync(new URL("../../../docs/formats.md", import.meta.url), "utf8")
const VECTORS = new URL("../../../libs/core/vectors/", import.meta.url)

function vector(path: string): JsonObject {
  const value = parseStrictJson(readFileSync(new URL(path, VECTORS)))
  if (!isObject(value)) throw new Error(`${path} is no object`)
  return value
}

/** Text of the section whose heading has this title, up to the next heading. */
function section(title: string): string {
  const [, text] = page.split(new RegExp(`^##+ [\\d.]+ ${title}$`, "m"))
  if (text === undefined) throw new Error(`no section is called ${title}`)
  return text.split(/^##/m)[0] ?? ""
}

/** Every name in the code of a section. */
const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].flatMap(([, code = ""]) => code.split(/[^\w.-]+/))

const inFolder = (folder: string): readonly string[] =>
  readdirSync(new URL(folder, VECTORS)).map(name => `${folder}/${name}`)
const preimages = [...inFolder("formulas"), ...inFolder("leaves")].map(path => {
  const { formats_section, preimage } = vector(path)
  if (typeof formats_section !== "string" || !isObject(preimage)) throw new Error(`${path} is no preimage`)
  return { path, text: section(formats_section), preimage }
})

test("every section and every receipt has its example", () => {
  for (const name of [...Object.keys(SECTION_SCHEMAS), ...RECEIPT_KEYS])
    expect(preimages.map(({ path }) => path)).toContain(`formulas/${name}.json`)
})

test("who writes a verifier finds the constants that a record is held to", () => {
  const refusals = OUTCOME_KINDS.filter(isRefused).map(outcome => OUTCOMES[outcome])
  const sentences = refusals.map(({ error_stage, sentence }) => `\`${error_stage}\`, \`${sentence}\``)
  expect(refusals).toHaveLength(RECEIPT_KEYS.length)
  for (const text of [...sentences, matchSentence("<id>", "<matched_in>")]) expect(section("Bundle")).toContain(text)
  expect(namesIn(section("Kernels"))).toContain(versions.KERNEL_VERSION)
})

/** Fields with a row of their own nowhere, as the page says. */
const EVERYWHERE = ["kind", "version", "envelope_id"]
const MARKERS = ["kind", "version", "leaf_version"]

/** Of the six kernels one example each is linked. */
test.each(preimages)("$path is named, linked and explained in its section", ({ path, text, preimage }) => {
  const names = namesIn(text)
  const markers = MARKERS.map(name => preimage[name]).filter(marker => typeof marker === "string")
  const fields = Object.keys(preimage).filter(name => !EVERYWHERE.includes(name))
  expect(names).toEqual(expect.arrayContaining([...markers, ...fields]))
  const first = preimage.kernel === undefined || preimage.kernel === "DSE"
  if (first) expect(text).toContain(`(../libs/core/vectors/${path})`)
})

const bundles = inFolder("bundles/valid").map(vector)

test("every field of a run, an entry and a trust document is explained", () => {
  const fieldsOf = (values: readonly (JsonValue | undefined)[]): readonly string[] => [
    ...new Set(values.flatMap(value => (isObject(value) ? Object.keys(value) : []))),
  ]
  const anchors = bundles.flatMap(bundle => Object.values(member(bundle, "anchors") ?? {}))
  const explained = [
    ["Bundle", fieldsOf(bundles.map(bundle => bundle.run))],
    ["Anchor", fieldsOf(anchors.map(anchor => member(anchor, "entry")))],
    ["Trust document", fieldsOf([vector("trust.json")])],
  ] as const
  for (const [title, fields] of explained) {
    expect(fields.length).toBeGreaterThan(5)
    expect(namesIn(section(title))).toEqual(expect.arrayContaining([...fields]))
  }
})

test("every member of a run statement is explained", () => {
  const found = bundles.map(readBundle).flatMap(record => ("unreadable" in record ? [] : (runStatement(record) ?? [])))
  expect(found.length).toBeGreaterThan(10)
  const members = found.flatMap(({ predicate }) => Object.keys(predicate))
  expect(namesIn(section("Run statement"))).toEqual(expect.arrayContaining(members))
})

test("an example is a link to its vector, which cannot differ from the code", () => {
  expect(page).not.toContain("```json")
})

test("every verdict is a line of docs/verifier.md", () => {
  const verifier = readFileSync(new URL("../../../docs/verifier.md", import.meta.url), "utf8")
  for (const verdict of [...Object.values(VERDICTS), ...Object.values(COMPLETENESS_VERDICTS)])
    expect(verifier).toContain(`\`${verdict}\``)
})

test("every version marker, check and verdict is on the page", () => {
  const markers = [versions, adminEvent, opening, permitEnd]
    .flatMap(module => Object.values<unknown>(module))
    .flat()
    .filter(value => typeof value === "string" && value.startsWith("vfa."))
  for (const text of [...markers, ...FINDING_IDS, ...Object.values(VERDICTS)]) expect(page).toContain(text)
})

test("every stage, gate and kernel has its row among the names on the wire", () => {
  const concepts = readFileSync(new URL("../../../docs/concepts.md", import.meta.url), "utf8")
  for (const name of [...STAGES, ...GATES, ...KERNELS]) expect(concepts).toContain(`\n| \`${name}\``)
})
