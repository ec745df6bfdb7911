/** Whole documents: none that was made without keys may verify. */
import { canonicalize, type JsonValue, parseStrictJson } from "@runseal/canonical"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { foldExport } from "@runseal/core/verify/completeness"
import { anchorsOf, evidenceOf, isUnreadable, verifyText } from "@runseal/core/verify/document"
import { isObject, member } from "@runseal/core/vocabulary/json-members"
import { checkEntry } from "@runseal/log/entries/check-entry"
import { transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import { authenticity, validDocuments, vectors, vectorTrust } from "../authentic.ts"
import { bytesOf, type FuzzTarget, promise, textOf } from "../fuzz-target.ts"

const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}]{1,300}$/u
/** Such a sentence, after words on the line it is about. */
const PRINTABLE_PROBLEM = /^[^\p{C}\p{Zl}\p{Zp}]{1,400}$/u

const trust = vectorTrust()
const isAuthentic = authenticity()

/** Bundles, receipts and attestations through `verifyText`, the entry point of every verifier. */
export const documents: FuzzTarget = {
  name: "document",
  json: true,
  seeds: () => [
    ...validDocuments(),
    ...vectors("bundles/invalid"),
    ...vectors("receipts/invalid"),
    ...vectors("attestations/invalid"),
  ],
  run: input => {
    const report = verifyText(input, [trust])
    if (isUnreadable(report)) {
      promise(PRINTABLE.test(report.unreadable), "the sentence on an unreadable document is one printable line")
      return
    }
    anchorsOf(input)
    evidenceOf(input)
    const failed = report.checks.some(({ result }) => result === "fail")
    promise(failed === (report.verdict === "FAILED"), "the verdict is FAILED exactly when a check failed")
    if (!/VERIFIED/.test(report.verdict)) return
    const value = parseStrictJson(input)
    promise(isObject(value) && isAuthentic(value), `a document that nobody signed is ${report.verdict}`)
  },
}

/** Exports: a stream that lacks a record, or has one that was never sealed, is never complete. */
export const exports: FuzzTarget = {
  name: "export",
  seeds: () => [...vectors("exports/valid"), ...vectors("exports/invalid")],
  run: input => {
    const fold = foldExport([trust])
    for (const [at, line] of textOf(input).split("\n").entries())
      if (line.trim() !== "") fold.take(at + 1, bytesOf(line))
    const result = fold.end()
    if ("unreadable" in result) return promise(PRINTABLE.test(result.unreadable), "the sentence is one printable line")
    for (const { sentence } of result.problems)
      promise(PRINTABLE_PROBLEM.test(sentence), "a problem is one printable line")
    promise(
      result.problem_count > 0 === (result.verdict === "FAILED"),
      "the verdict is FAILED exactly when there are problems",
    )
    if (result.verdict === "FAILED") return
    promise(completeExports.has(formOf(input)), `an export that nobody made is ${result.verdict}`)
  },
}

const completeExports = new Set(vectors("exports/valid").map(formOf))

/** An export's lines in canonical form. */
function formOf(input: Uint8Array): string {
  const lines = textOf(input)
    .split("\n")
    .filter(line => line.trim() !== "")
  return lines.map(line => canonicalize(parseStrictJson(line))).join("\n")
}

/** Log entries with the leaf that they claim to contain, with all ten checks. */
export const entries: FuzzTarget = {
  name: "log-entry",
  json: true,
  seeds: () => entryTexts.map(bytesOf),
  run: input => {
    const value = readJson(input)
    const leaf = member(value, "leaf") ?? null
    const parsed = parseExact(transparencyLogEntrySchema, member(value, "entry"))
    if (!parsed.ok) return
    const { checks } = checkEntry(parsed.value, { preimage: bytesOf(canonicalize(leaf)), trust })
    const passed = checks.every(({ ok }) => ok)
    promise(
      !passed || knownEntries.has(canonicalize({ leaf, entry: parsed.value })),
      "an entry that nobody logged passes",
    )
  },
}

const entryTexts = validDocuments().flatMap(bytes => {
  const document = readJson(bytes)
  const anchors = member(document, "anchors")
  const found = [member(document, "entry") === undefined ? undefined : document, member(document, "receipt_anchor")]
  if (isObject(anchors)) found.push(...Object.values(anchors))
  return found.flatMap(anchor => {
    const [leaf, entry] = [member(anchor, "leaf"), member(anchor, "entry")]
    return leaf === undefined || entry === undefined ? [] : [canonicalize({ leaf, entry })]
  })
})
const knownEntries = new Set(entryTexts)

/** An input as strict JSON; undefined for anything else. */
function readJson(input: Uint8Array): JsonValue | undefined {
  try {
    return parseStrictJson(input)
  } catch {
    return undefined
  }
}
