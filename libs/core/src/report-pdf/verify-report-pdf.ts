/**
 * Verifies an audit report by the record it carries. The attachment is the evidence; the pages are a rendering of it, and
 * what is checked of them is that every hash they print is one of the record's. Whoever can draw pages can draw letters
 * that only look like others: the pages alone never prove anything.
 */
import { parseStrictJson, StrictJsonError, utf8Decode } from "@runseal/canonical"
import type { TrustedKeys } from "../transparency-log/trusted-keys.ts"
import { isUnreadable, type Unreadable, verifyText } from "../verify/document.ts"
import { PRINTED_HASHES_ID, type Report, VERDICTS } from "../verify/report.ts"
import { isObject } from "../vocabulary/json-members.ts"
import { type Inflate, member, openPdf, type PdfFile } from "./pdf-file.ts"
import { PdfError, type PdfValue } from "./pdf-value.ts"
import { pagesOf, printedRuns } from "./report-text.ts"

/** Whether bytes begin as a PDF does. */
export const isPdf = (bytes: Uint8Array): boolean =>
  [0x25, 0x50, 0x44, 0x46, 0x2d].every((byte, at) => bytes[at] === byte)

/** Made when the report was rendered and labelled so: no hash of the record. Specification, "GET /runs/{id}/report.pdf". */
export const RENDER_TIME_PREFIXES = ["claim:", "compile:"] as const
const PRINTED_HASH = new RegExp(`(${RENDER_TIME_PREFIXES.join("|")})?([0-9a-f]{64})`, "g")

/** Levels of the name tree in which attachments are listed. */
const MAX_TREE_DEPTH = 8

/** The record inside a report, as its bytes. @throws PdfError when it holds none, or more than one */
export async function attachedRecord(bytes: Uint8Array, inflate: Inflate): Promise<Uint8Array> {
  return recordIn(openPdf(bytes, inflate))
}

async function recordIn(file: PdfFile): Promise<Uint8Array> {
  const catalog = file.resolve(file.trailer.entries.get("Root"))
  const files = attachments(file, member(file.resolve(member(catalog, "Names")), "EmbeddedFiles"), 0)
  const [only, ...others] = files
  if (only === undefined) throw new PdfError("it carries no record")
  if (others.length > 0) throw new PdfError("it carries more than one attachment")
  const { data } = await file.stream(member(file.resolve(member(file.resolve(only), "EF")), "F"))
  return data
}

function attachments(file: PdfFile, reference: PdfValue | undefined, depth: number): readonly PdfValue[] {
  const node = file.resolve(reference)
  if (node === undefined) return []
  if (depth > MAX_TREE_DEPTH) throw new PdfError("its list of attachments is not exact")
  const names = file.resolve(member(node, "Names"))
  const kids = file.resolve(member(node, "Kids"))
  const here = names?.kind === "array" ? names.items.filter((_, at) => at % 2 === 1) : []
  const below = kids?.kind === "array" ? kids.items.flatMap(kid => attachments(file, kid, depth + 1)) : []
  return [...here, ...below]
}

/**
 * Verifies the record a report carries, and that the pages print the record's seal and no hash that is not the record's.
 * Hostile input never throws.
 */
export async function verifyReportPdf(
  bytes: Uint8Array,
  trusts: readonly TrustedKeys[],
  inflate: Inflate,
): Promise<Report | Unreadable> {
  try {
    const file = openPdf(bytes, inflate)
    const record = await recordIn(file)
    const report = verifyText(record, trusts)
    if (isUnreadable(report)) return { unreadable: `the record in the PDF is ${report.unreadable}` }
    if (report.document !== "bundle") return { unreadable: "the PDF carries no audit bundle" }
    const runs = await printedRuns(file)
    return withPages(report, pagesOf(file).length, hashProblem(runs, record), runs)
  } catch (error) {
    if (error instanceof PdfError) return { unreadable: `not an audit report of ours: ${error.message}` }
    throw error
  }
}

/** What is wrong with the hashes that the pages print; undefined when nothing is. */
function hashProblem(runs: readonly string[], record: Uint8Array): string | undefined {
  const text = utf8Decode(record) ?? ""
  const known = new Set(text.match(/[0-9a-f]{64}/g))
  const printed = printedHashes(runs)
  const foreign = [...printed].filter(hash => !known.has(hash)).length
  if (foreign > 0)
    return `The pages print ${foreign} hash${foreign === 1 ? "" : "es"} that the attached record does not hold.`
  const seal = sealOf(text)
  return seal !== undefined && !printed.has(seal)
    ? "The pages do not print the hash that seals the attached record."
    : undefined
}

/** The hashes of the record that the pages print: 64 digits drawn in one run, but for those labelled as made at render time. */
function printedHashes(runs: readonly string[]): ReadonlySet<string> {
  const found = runs.flatMap(run => [...run.matchAll(PRINTED_HASH)])
  return new Set(found.flatMap(([, label, hash = ""]) => (label === undefined ? [hash] : [])))
}

/** `bundle_hash` of a record that was readable a moment ago. */
function sealOf(text: string): string | undefined {
  try {
    const value = parseStrictJson(text)
    const seal = isObject(value) ? value.bundle_hash : undefined
    return typeof seal === "string" ? seal : undefined
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined
    throw error
  }
}

function withPages(report: Report, pages: number, problem: string | undefined, runs: readonly string[]): Report {
  const count = printedHashes(runs).size
  const what = `${pages} pages print ${count} hashes, the record's seal among them; all are in the attached record.`
  const check = {
    id: PRINTED_HASHES_ID,
    result: problem === undefined ? "pass" : "fail",
    message: problem ?? what,
  } as const
  const checks = [...report.checks, check]
  if (problem === undefined) return { ...report, checks }
  return { ...report, checks, verdict: VERDICTS.failed, first_failure: report.first_failure ?? check.id }
}
