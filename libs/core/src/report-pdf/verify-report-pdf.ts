/**
 * Verifies an audit report by the record it carries. The attachment is the evidence; the pages are a rendering of it, and
 * what is checked of them is that every hash they print is one of the record's. Whoever can draw pages can draw letters
 * that only look like others: the pages alone never prove anything.
 */
import { parseStrictJson, StrictJsonError, utf8Decode } from "@runseal/canonical"
import type { TrustedKeys } from "../transparency-log/trusted-keys.ts"
import { isUnreadable, type Unreadable, verifyText } from "../verify/document.ts"
import { limitation, PRINTED_HASHES_ID, type Report, VERDICTS } from "../verify/report.ts"
import { isObject } from "../vocabulary/json-members.ts"
import { type Inflate, member, openPdf, type PdfFile } from "./pdf-file.ts"
import { PdfError, type PdfValue } from "./pdf-value.ts"
import { pagesOf, printedRuns } from "./report-text.ts"

/** Made when the report was rendered and labelled so: no hash of the record. Specification, "GET /runs/{id}/report.pdf". */
export const RENDER_TIME_PREFIXES = ["claim:", "compile:"] as const
const PRINTED_HASH = new RegExp(`(${RENDER_TIME_PREFIXES.join("|")})?([0-9a-f]{64})`, "g")

/** Levels of the name tree in which attachments are listed, and its nodes: ours has one of each. */
const MAX_TREE_DEPTH = 8
const MAX_TREE_NODES = 64

async function recordIn(file: PdfFile): Promise<Uint8Array> {
  const [only, ...others] = attachments(file)
  if (only === undefined) throw new PdfError("it carries no record")
  if (others.length > 0) throw new PdfError("it carries more than one attachment")
  const { data } = await file.stream(member(file.resolve(member(file.resolve(only), "EF")), "F"))
  return data
}

/** What stands under a name in the name tree of embedded files. ISO 32000-1 §7.9.6. */
function attachments(file: PdfFile): readonly PdfValue[] {
  const found: PdfValue[] = []
  let nodes = 0
  const walk = (reference: PdfValue | undefined, depth: number): void => {
    if (depth > MAX_TREE_DEPTH || ++nodes > MAX_TREE_NODES) throw new PdfError("its list of attachments is not exact")
    const node = file.resolve(reference)
    const names = file.resolve(member(node, "Names"))
    const kids = file.resolve(member(node, "Kids"))
    if (names?.kind === "array") for (const [at, value] of names.items.entries()) if (at % 2 === 1) found.push(value)
    if (kids?.kind === "array") for (const kid of kids.items) walk(kid, depth + 1)
  }
  const catalog = file.resolve(file.trailer.entries.get("Root"))
  walk(member(file.resolve(member(catalog, "Names")), "EmbeddedFiles"), 0)
  return found
}

/** What a report is made of, as far as a verifier looks at it. */
export type ReportFile = {
  /** The sealed record it carries, as its bytes. */
  readonly record: Uint8Array
  readonly pages: number
  /** The runs of text its pages print, in the order of drawing. */
  readonly runs: readonly string[]
}

/** Reads a report. Hostile input never throws. */
export async function readReportPdf(bytes: Uint8Array, inflate: Inflate): Promise<ReportFile | Unreadable> {
  try {
    const file = openPdf(bytes, inflate)
    return { record: await recordIn(file), pages: pagesOf(file).length, runs: await printedRuns(file) }
  } catch (error) {
    if (error instanceof PdfError) return { unreadable: `not an audit report of ours: ${error.message}` }
    throw error
  }
}

/** Verifies the record that a report carries, and what its pages print of it. */
export function verifyReportFile(file: ReportFile, trusts: readonly TrustedKeys[]): Report | Unreadable {
  const report = verifyText(file.record, trusts)
  if (isUnreadable(report)) return { unreadable: `the record in the PDF is ${report.unreadable}` }
  return report.document === "bundle" ? withPages(report, file) : { unreadable: "the PDF carries no audit bundle" }
}

/** What is wrong with the hashes that the pages print; undefined when nothing is. */
function hashProblem(runs: readonly string[], record: Uint8Array): string | undefined {
  const text = utf8Decode(record) ?? ""
  const printed = printedHashes(runs)
  const foreign = foreignTo(text, printed)
  if (foreign > 0)
    return `The pages print ${foreign} hash${foreign === 1 ? "" : "es"} that the attached record does not hold.`
  const seal = sealOf(text)
  return seal !== undefined && !printed.has(seal)
    ? "The pages do not print the hash that seals the attached record."
    : undefined
}

/**
 * How many of the hashes stand nowhere in a text. A longer run of hex digits holds every 64 of its digits: pages break it
 * where their columns end.
 */
function foreignTo(text: string, hashes: ReadonlySet<string>): number {
  const unknown = new Set(hashes)
  for (const [run] of text.matchAll(/[0-9a-f]{64,}/g))
    for (let at = 0; at + 64 <= run.length && unknown.size > 0; at++) unknown.delete(run.slice(at, at + 64))
  return unknown.size
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

function withPages(report: Report, { pages, runs, record }: ReportFile): Report {
  const problem = hashProblem(runs, record)
  const count = printedHashes(runs).size
  const what = `${pages} pages print ${count} hashes, the record's seal among them; all are in the attached record.`
  const check = {
    id: PRINTED_HASHES_ID,
    result: problem === undefined ? "pass" : "fail",
    message: problem ?? what,
  } as const
  const checks = [...report.checks, check]
  const limitations = [...report.limitations, limitation("pages_rendered")]
  if (problem === undefined) return { ...report, checks, limitations }
  const first_failure = report.first_failure ?? check.id
  return { ...report, checks, limitations, verdict: VERDICTS.failed, first_failure }
}
