/** What to do when a document did not verify. Programs differ only in how a user gives them a trust document. */
import { type Check, type CheckId, firstFault, isUntrusted, type Report } from "../verify/report.ts"

/** Why a check failed, by what can be done about it. */
type Cause = "altered" | "keys" | "time" | "entry_missing"
/** `untrusted`: no trust document of the reader's vouches for the document. */
export type Remedy = Cause | "untrusted"

const CAUSES: Readonly<Record<CheckId, Cause>> = {
  shape: "altered",
  sections: "altered",
  decision: "altered",
  manifest: "altered",
  transcript: "altered",
  executions: "altered",
  leaf: "altered",
  entry: "keys",
  inclusion: "keys",
  log_time: "time",
  bundle_hash: "altered",
  complete_record: "keys",
  outside: "keys",
  witnessed: "keys",
  report_signature: "keys",
  signature: "keys",
}

/** The remedy for a report that failed; undefined for one that did not. */
export function remedyFor(report: Report): Remedy | undefined {
  if (isUntrusted(report)) return "untrusted"
  const fault = firstFault(report)
  if (fault === undefined) return undefined
  const { anchors, document, unvouched } = report
  const cause = CAUSES[fault.id]
  // An attestation has no clock of its own: its time was changed.
  if (cause === "time" && document === "attestation") return "altered"
  if (cause !== "keys") return cause
  if (anchors.length === 0 && document !== "run_statement") return "entry_missing"
  // Without any key of the service, what failed besides is wrong in the document itself.
  return unvouched === undefined ? "keys" : "altered"
}

/** A fault of a document of which the reader also trusts no key. */
export const faultText = ({ id, message }: Check): string => `Wrong whatever keys you trust, ${id}: ${message}`

/** The advice in paragraphs. @param takeUp how to give this program another trust document, such as "load it on this page" */
export function adviceOf(remedy: Cause, takeUp: string): readonly string[] {
  switch (remedy) {
    case "altered":
      return [
        "This is not a record as a service seals it: it was changed, sealed wrongly, or forged.",
        "Fetch it again from the service and verify that copy. If it fails again, save both as evidence and ask the service.",
      ]
    case "keys":
      return [
        `Fetch the document again from the service and verify that copy. If the service has announced new keys, get its current trust document, compare the fingerprints, and ${takeUp}.`,
        "If it still fails, the log does not vouch for this document: do not rely on it.",
      ]
    case "time":
      return [
        "The record and its log entry have different times, so the entry does not prove when the run took place.",
        "Ask the service how the entry came about; do not rely on the record's clock.",
      ]
    case "entry_missing":
      return [
        "The document must come with its log entry and does not. Save the answer of the service again, whole, and verify that. Without an entry, its date is only the claim of its maker.",
      ]
  }
}

/** Printed before FAILED when no trusted key made the document, so that it is not taken for a forgery. */
export const NOT_TRUSTED =
  "NOT TRUSTED: you trust no key of the service that made this document, so nothing shows whether it is genuine or forged."

/** Why the keys inside a document do not count. */
export const UNVOUCHED =
  "No trust document of yours vouches for the log and the service key of this record. Keys inside a record prove nothing: anybody can make them."

/** Why keys from the record's own address do not count. */
export const SAME_ADDRESS =
  "Never rely only on the trust document of the address that sent you this record: a forger there serves the matching keys too."
