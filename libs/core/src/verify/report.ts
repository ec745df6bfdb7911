/** The report of a verification: checks, limitations, verdict. docs/formats.md section 16. */
import type { WithholdableName } from "../artifacts/declared-sections.ts"
import type { Explanation } from "../artifacts/explanation.ts"
import type { OutcomeKind } from "../vocabulary/outcomes.ts"
import { CLOCK_TOLERANCE_SECONDS, clockMillis } from "../vocabulary/scalars.ts"
import type { Unreadable } from "./parsed-text.ts"
import type { RecordFacts } from "./record-facts.ts"
import type { RunAccount } from "./run-account.ts"

/** Checks in the order in which they are reported; the first that failed names a FAILED verdict. */
export const CHECK_IDS = [
  "shape",
  "sections",
  "decision",
  "manifest",
  "transcript",
  "executions",
  "leaf",
  "entry",
  "inclusion",
  "log_time",
  "bundle_hash",
  "complete_record",
  "outside",
  "witnessed",
] as const
/** One further check of an audit report in PDF: who signed the file. */
export const REPORT_SIGNATURE_ID = "report_signature"
/** The check of a run statement, which has no log entry: who signed it. */
export const SIGNATURE_ID = "signature"
export type CheckId = (typeof CHECK_IDS)[number] | typeof REPORT_SIGNATURE_ID | typeof SIGNATURE_ID
export type CheckResult = "pass" | "fail" | "absent" | "withheld"

export type Check = { readonly id: CheckId; readonly result: CheckResult; readonly message: string }

export const VERDICTS = {
  complete: "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED",
  anchored: "VERIFIED AND ANCHORED",
  receipt: "RECEIPT VERIFIED AND ANCHORED",
  attestation: "ATTESTATION VERIFIED AND ANCHORED",
  export_statement: "EXPORT STATEMENT VERIFIED AND ANCHORED",
  opening: "OPENING VERIFIED AND ANCHORED",
  approval_request: "APPROVAL REQUEST VERIFIED AND ANCHORED",
  permit_end: "PERMIT END VERIFIED AND ANCHORED",
  admin_event: "ADMIN EVENT VERIFIED AND ANCHORED",
  receipt_unanchored: "RECEIPT SELF-CONSISTENT ONLY, NOT ANCHORED",
  unanchored: "SELF-CONSISTENT ONLY, NOT ANCHORED",
  run_statement: "RUN STATEMENT SIGNED, NOT ANCHORED",
  failed: "FAILED",
} as const
export type Verdict = (typeof VERDICTS)[keyof typeof VERDICTS]

/** What was not verified and cannot be from the document alone. `strict` marks what `--strict` refuses. */
export type Limitation = { readonly code: LimitationCode; readonly sentence: string; readonly strict: boolean }

export const LIMITATIONS = {
  operator_log: {
    sentence:
      "Log time and the log's uniqueness are the operator's word: this document carries no witness's signature. Those of the log, verifier log audit shows.",
    strict: false,
  },
  witnessed_log: {
    sentence:
      "That the log is the same for everybody rests on the witnesses that signed it: that they are independent of its operator. They date an entry by their signature; its log time is the operator's word.",
    strict: false,
  },
  unknown_witness: {
    sentence:
      "Log time and the log's uniqueness are the operator's word as long as you trust no key of a witness that signed here: list those keys in the trust document that you pin.",
    strict: false,
  },
  own_log_alone: {
    sentence:
      "That the service keeps one log only is the operator's word; its times are not: public Rekor holds every entry of this record in time.",
    strict: false,
  },
  late_entry: {
    sentence:
      "An entry in an outside log is late: it shows that the record was there at that entry's time, and nothing of the time before.",
    strict: false,
  },
  declared_content: {
    sentence: "What the caller declared is the caller's word; its signatures and approvals were not verified.",
    strict: false,
  },
  stated_end_user: {
    sentence:
      "Who the end user is, is the service's word: it states what it read in a token of the identity provider, and no record holds the token.",
    strict: false,
  },
  stated_approvals: {
    sentence:
      "Who approved is the service's word: it states who was signed in at the identity provider, whose API key decided, or whose a passkey is. Who has a person's own passkey proves that with --approver-keys. The acts of these persons are in the chain of the deployment.",
    strict: false,
  },
  open_request: {
    sentence: "Nothing here shows what the request came to: the export of the whole chain does.",
    strict: false,
  },
  reported_act: {
    sentence: "What was done under the permit is the caller's report: nothing here ties the act to it.",
    strict: false,
  },
  opening_before_act: {
    sentence:
      "The opening is in the log before the close, by its index; that it was there before the act, only a witness's cosignature or a timestamp of it can show.",
    strict: false,
  },
  open_permit: {
    sentence: "Nothing here shows what became of the permit: its close, or its end, is a later document of the chain.",
    strict: false,
  },
  ended_openings: {
    sentence:
      "Nothing here shows the openings that ended: that they were reserved so, and were not closed, the whole export shows, with --complete.",
    strict: false,
  },
  event_clock: {
    sentence: "When the action was done is the service's word: the log shows when it was sealed, which is later.",
    strict: false,
  },
  chain_tail: {
    sentence:
      "One record cannot show that later records of the tenant were not dropped; compare with a witnessed chain head.",
    strict: false,
  },
  statement_alone: {
    sentence:
      "The statement alone shows no record: whether all that it speaks of are there, verify the whole export with --complete.",
    strict: false,
  },
  later_records: {
    sentence: "Records sealed after the export statement are not spoken of.",
    strict: false,
  },
  second_chain: {
    sentence:
      "Nothing here shows that the service keeps one chain only for this tenant: it shows when two statements or records give one ordinal two digests.",
    strict: false,
  },
  stated_range: {
    sentence:
      "That no record outside this piece of the chain was admitted in the time asked for, and that the chain goes on from it to its stated end, is the service's signed word; an export without from and to proves both.",
    strict: false,
  },
  future_dated: {
    sentence:
      "It is dated more than 5 minutes ahead of your clock: one of the two clocks is wrong, or it was dated ahead.",
    strict: true,
  },
  repeats_beyond: {
    sentence:
      "The export holds more records than are compared: identifiers and charges of those beyond the first 8388608 were held to the first ones only.",
    strict: true,
  },
  statement_of_record: {
    sentence:
      "A run statement is the service's signed word on a record: only the record's bundle shows that it was sealed so and anchored.",
    strict: false,
  },
  signing_time: {
    sentence: "Nothing dates the signature: the times in the statement are those of the record.",
    strict: false,
  },
  run_number_not_bound: { sentence: "Receipt anchor v1 does not bind the run number.", strict: false },
  run_facts_not_bound: {
    sentence: "Without a complete-record anchor nothing binds the run number, the duration or the tenant's salt.",
    strict: false,
  },
  software_attestation: { sentence: "The attestation is software only: no hardware quote backs it.", strict: false },
  builtin_reviewer: {
    sentence: "The governance review was made by built-in deterministic rules, not by a model or a person.",
    strict: true,
  },
  output_not_reviewed: {
    sentence: "The output was not reviewed: the caller declared its hash, and the service never had the output.",
    strict: true,
  },
  review_disabled: { sentence: "AI output was present and its governance review was switched off.", strict: true },
  pages_rendered: {
    sentence:
      "A report's pages are the service's words: they are signed, and were not compared with the record. The record is the evidence.",
    strict: false,
  },
  key_revoked_later: {
    sentence:
      "The service key was revoked later. That this entry is older is the log's word alone: hold the record against an audited log, with log audit --holds.",
    strict: true,
  },
  observed_only: {
    sentence:
      "What was decided was only observed: it stopped nothing, and nothing here shows what the caller did after it.",
    strict: true,
  },
  withheld_section: {
    sentence: "A section of the record is withheld: only its hash could be checked.",
    strict: true,
  },
} as const
export type LimitationCode = keyof typeof LIMITATIONS
const isLimitationCode = (name: string): name is LimitationCode => Object.hasOwn(LIMITATIONS, name)
export const LIMITATION_CODES: readonly LimitationCode[] = Object.keys(LIMITATIONS).filter(isLimitationCode)

/** The limitation behind a code. */
export const limitation = (code: LimitationCode): Limitation => ({ code, ...LIMITATIONS[code] })

export type AnchorFacts = {
  /** Of a record one of its slots; of another document the name of its kind. */
  readonly slot: string
  readonly leaf_version: string
  readonly log_index: string
  /** Unix seconds, decimal. */
  readonly integrated_time: string
  /** Host of the log; absent for the service's own. */
  readonly outside_log?: string
  /** Of a log that signs no time: host of the authority whose timestamp is the time. */
  readonly timestamp_authority?: string
  /** Of an outside log: the entry is too far from the record's time. */
  readonly late?: true
}

/** A key that signed a log entry of the record, was valid then, and is no longer. */
export type KeyNote = {
  readonly role: "service" | "log"
  /** SHA-256 of its SPKI, lowercase hex. */
  readonly key_id: string
  readonly code: "key_retired" | "key_revoked_later"
  readonly sentence: string
}

export type Report = {
  /** The kind of the document: a row of `KINDS`. */
  readonly document: string
  readonly verdict: Verdict
  readonly checks: readonly Check[]
  readonly first_failure?: CheckId
  /** Checks that failed only because the reader trusts no key of the service; absent when there are none. */
  readonly unvouched?: readonly CheckId[]
  /** What the record says happened, in one sentence, when that is not a completed run. */
  readonly statement?: string
  /** The service named by the trust document whose keys were used. */
  readonly service?: string
  /** The document's own clock, RFC 3339; absent where only the log dates it. */
  readonly clock?: string
  readonly run_id?: number
  readonly outcome_kind?: OutcomeKind
  /** What the record states of its run; absent for documents of no run. */
  readonly facts?: RecordFacts
  /** The run in one line each, from the document alone; absent for documents of no run, and of a receipt without its record. */
  readonly account?: RunAccount
  /** Why a gate refused the run, from the document alone; absent where none did. */
  readonly explanation?: Explanation
  readonly withheld: readonly WithholdableName[]
  readonly limitations: readonly Limitation[]
  readonly anchors: readonly AnchorFacts[]
  /** On keys that are no longer in force; absent when all are. */
  readonly key_notes?: readonly KeyNote[]
}

/** The first check that failed whatever keys the reader trusts; undefined when nothing speaks against the document itself. */
export const firstFault = ({ checks, unvouched = [] }: Pick<Report, "checks" | "unvouched">): Check | undefined =>
  checks.find(({ id, result }) => result === "fail" && !unvouched.includes(id))

/** Whether a document failed only because the reader trusts no key of the service. */
export const isUntrusted = (report: Pick<Report, "checks" | "unvouched">): boolean =>
  report.unvouched !== undefined && firstFault(report) === undefined

/** The checks of every document but a report in PDF, in their order. */
export const FINDING_IDS: readonly CheckId[] = [...CHECK_IDS, SIGNATURE_ID]

/** A check that does not apply to the document. */
export const absent = (id: CheckId, message: string): Check => ({ id, result: "absent", message })

const UNANCHORED: ReadonlySet<Verdict> = new Set([
  VERDICTS.unanchored,
  VERDICTS.receipt_unanchored,
  VERDICTS.run_statement,
])

/** Whether a verdict is a good one of a document that has no log entry. */
export const isUnanchored = (verdict: Verdict): boolean => UNANCHORED.has(verdict)

/** Exit code of a verdict: 0 verified, 1 not anchored or failed. `--allow-unanchored` never rescues a FAILED. */
export function exitCode(verdict: Verdict, allowUnanchored: boolean): 0 | 1 {
  if (verdict === VERDICTS.failed) return 1
  return isUnanchored(verdict) && !allowUnanchored ? 1 : 0
}

// Compares a verified document with the reader's clock. The libraries have no clock: the program that reads passes its own.

/**
 * The report, with one more limitation when the document is dated too far ahead of the reader, by its own clock or by the time of
 * any log entry in it. The dates of a document that failed prove nothing, and are not compared.
 * @param readAtMs the reader's clock, milliseconds since the epoch; absent: the reader has none
 */
export function heldToClock<R extends Report | Unreadable>(report: R, readAtMs: number | undefined): R
export function heldToClock(report: Report | Unreadable, readAtMs: number | undefined): Report | Unreadable {
  if (readAtMs === undefined || "unreadable" in report || report.verdict === VERDICTS.failed) return report
  const { clock, anchors, limitations } = report
  const latest = readAtMs + CLOCK_TOLERANCE_SECONDS * 1000
  const own = clock === undefined ? 0 : (clockMillis(clock) ?? 0)
  const isAhead = own > latest || anchors.some(({ integrated_time }) => Number(integrated_time) * 1000 > latest)
  return isAhead ? { ...report, limitations: [...limitations, limitation("future_dated")] } : report
}
