/** The texts of a report, the same in every program that shows one. */
import { UNTRUSTED_ADVICE } from "../verify/anchor-check.ts"
import type { AnchorFacts, CheckResult, Report, Verdict } from "../verify/report.ts"
import { isUnanchored, VERDICTS } from "../verify/report.ts"
import { unixTime } from "./unix-time.ts"

const NAMES: Readonly<Record<Report["document"], string>> = {
  bundle: "Audit bundle",
  receipt: "Receipt",
  attestation: "Attestation",
  export_statement: "Export statement",
  run_statement: "Run statement",
}

/** The sign before a check. */
export const MARKS: Readonly<Record<CheckResult, string>> = { pass: "✓", fail: "✗", absent: "–", withheld: "◐" }

/** What was verified, and with whose keys. */
export function titleOf({ document, run_id, outcome_kind, service, anchors }: Report): string {
  const run = run_id === undefined ? "" : ` of run ${run_id}`
  const outcome = outcome_kind === undefined ? "" : `, outcome ${outcome_kind}`
  const named = anchors.length > 0 || document === "run_statement"
  const untrusted = named ? ", held against no key you trust" : ""
  const keys = service === undefined ? untrusted : `, held against the keys of ${service}`
  return `${NAMES[document]}${run}${outcome}${keys}`
}

/** A check's sentence without its advice, which has a section of its own. */
export const shortMessage = (message: string): string =>
  message.replace(UNTRUSTED_ADVICE, "no key you trust made this log entry")

/** The position of an entry in the log, and its time. */
export function anchorText(facts: AnchorFacts): string {
  const { leaf_version, log_index, integrated_time, outside_log, timestamp_authority, late } = facts
  const log = outside_log === undefined ? "" : ` of ${outside_log}`
  const clock = unixTime(Number(integrated_time))
  const source = timestamp_authority === undefined ? `logged ${clock}` : `stamped ${clock} by ${timestamp_authority}`
  const time = `${source}${late === undefined ? "" : ", late"}`
  return `entry ${log_index}${log}, ${time}, ${leaf_version}`
}

/** Explains a verdict without log entry; undefined for any other. */
export function unanchoredMeaning(verdict: Verdict): string | undefined {
  if (!isUnanchored(verdict)) return undefined
  return verdict === VERDICTS.run_statement ? SIGNED_MEANS : SELF_CONSISTENT_MEANS
}

const SELF_CONSISTENT_MEANS =
  "No log entry: the hashes agree with each other, and the maker of the document could have made them agree."
const SIGNED_MEANS =
  "No log entry: the service signed this, and could have signed something else for somebody else. Verify the record's bundle beside it."

/** The colour of a verdict. */
export function verdictTone(verdict: Verdict): "good" | "warn" | "bad" {
  if (verdict === VERDICTS.failed) return "bad"
  return isUnanchored(verdict) ? "warn" : "good"
}
