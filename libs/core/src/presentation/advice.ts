/** What to do when a document did not verify. How a trust document is taken up differs by program; all else is the same. */
import type { CheckId, Report } from "../verify/report.ts"

/** Which way out a failed check leaves. */
type Way = "altered" | "keys" | "time" | "entry_missing"
/** `untrusted`: nothing the reader trusts vouches for the document, and only the reader can change that. */
type Remedy = Way | "untrusted"

const WAYS: Readonly<Record<CheckId, Way>> = {
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
  report_signature: "keys",
  printed_hashes: "altered",
  signature: "keys",
}

/** The way out of the first failed check. @param trusted whether a trust document of the reader's was used */
export function remedyFor({ anchors, document }: Report, failed: CheckId, trusted: boolean): Remedy {
  const way = WAYS[failed]
  // An attestation has no clock of its own: another time than the entry's was written into it.
  if (way === "time" && document === "attestation") return "altered"
  if (way !== "keys") return way
  if (anchors.length === 0 && document !== "run_statement") return "entry_missing"
  return trusted ? "keys" : "untrusted"
}

/** The advice in paragraphs. @param takeUp how this program is given another trust document: "pin it with …" */
export function adviceOf(remedy: Way, takeUp: string): readonly string[] {
  switch (remedy) {
    case "altered":
      return [
        "This is no record as the service has to seal it: it was changed since, sealed wrongly, or made up.",
        "Fetch it again from the service and verify that copy. If it fails again, keep both as evidence and ask there.",
      ]
    case "keys":
      return [
        `Fetch the document again from the service and verify that copy. If the service has announced new keys, get its current trust document, compare the fingerprints, and ${takeUp}.`,
        "If it still fails, the log does not vouch for this document: do not rely on it.",
      ]
    case "time":
      return [
        "The record and its log entry are not of the same time, so the entry does not show when the run took place.",
        "Ask the service how the entry came about; do not rely on the record's clock.",
      ]
    case "entry_missing":
      return [
        "The document must come with its log entry and does not. Save the answer of the service again, whole, and verify that. Without an entry nothing but the word of its maker dates this document.",
      ]
  }
}

/** Why a document that names keys itself is not believed. */
export const UNVOUCHED =
  "No trust document of yours vouches for the log and the service key of this record. Keys inside a record prove nothing: anybody can make some."

/** What the keys of a record's own address are worth. */
export const SAME_ADDRESS =
  "Never rely on the trust document of the address that handed you this record alone: who forges a record there serves the matching keys beside it."
