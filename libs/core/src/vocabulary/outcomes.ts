/**
 * The outcome states of a run and everything that depends on the state alone.
 * docs/api.md, "POST /execute" and "Sealed artifacts".
 */

import type { OutcomeWords } from "./outcome-words.ts"
import {
  AIVP_T4_HALT_WORDS,
  ATTESTATION_GAP_WORDS,
  CCV_HALT_WORDS,
  MACC_HALT_WORDS,
  OK_WORDS,
  PEPG_DENY_WORDS,
  STAGE_ERROR_WORDS,
} from "./outcome-words.ts"

import type { Enforcement } from "./scalars.ts"

/** The nine pipeline stages in order; a code is also the `error_stage` of a stage_error. docs/concepts.md, "Names on the wire". */
export const STAGES = [
  "DOG", // the run's identity: the envelope
  "DTL", // transport: the sequence id
  "DKEC", // kernel execution
  "AER", // the execution record
  "ZKSP", // a commitment by hash, and no zero-knowledge proof
  "PHASE4", // binds to tenant and region
  "LEDGER", // the entry in the log
  "REGISTRY", // the list of artifacts
  "DLA", // the final seal
] as const
export type Stage = (typeof STAGES)[number]

/** The five gates. Each may stop a run; none changes what a stage produced. */
export const GATES = [
  "PEPG_ADMISSION", // admission: the attested fields that the policy requires
  "PEPG", // pre-execution policy gate
  "CCV", // per-run budget
  "MACC", // cumulative per-window budget
  "AIVP_T4", // Tier-4 AI governance review
] as const
export type Gate = (typeof GATES)[number]

/** The six kernels of DKEC in the order in which they run. */
export const KERNELS = [
  "DSE", // state
  "TOK", // time
  "DSC", // continuity
  "NREP", // origin
  "AIVP", // output
  "DCAE", // closure
] as const
export type Kernel = (typeof KERNELS)[number]

export const OUTCOME_KINDS = [
  "ok",
  "pepg_deny",
  "ccv_halt",
  "macc_halt",
  "aivp_t4_halt",
  "attestation_gap",
  "stage_error",
] as const
export type OutcomeKind = (typeof OUTCOME_KINDS)[number]

/** Outcomes that end in a sealed receipt. */
export type RefusedKind = Exclude<OutcomeKind, "ok" | "stage_error">
/** The member of a response or bundle that holds the receipt. */
export type ReceiptKey =
  | "deny_receipt"
  | "ccv_halt_receipt"
  | "macc_halt_receipt"
  | "aivp_t4_halt_receipt"
  | "attestation_gap_receipt"
export type ArtifactKey = "allow_token" | ReceiptKey

/** How a stopped run is marked in its partial manifest: field name and value. */
export type OutcomeMarker = {
  readonly field: "PepgOutcome" | "CcvOutcome" | "MaccOutcome" | "AivpT4Outcome"
  readonly value: "deny" | "halted"
}

export type Outcome = {
  /** Status of the `POST /execute` answer. */
  readonly http_status: 200 | 422 | 500
  /** The gate that ended the run; "" for ok, and for stage_error where the failing stage is a fact of the run. */
  readonly error_stage: Gate | ""
  /** What the run holds as its sealed decision. */
  readonly artifact?: { readonly key: ArtifactKey; readonly path: string; readonly version: string }
  readonly marker?: OutcomeMarker
  /** Sentence of the `error` field and of reports. */
  readonly sentence: string
  /** What a report says of the outcome. */
  readonly words: OutcomeWords
}

/** One row per outcome state; no other code switches on the outcome to learn one of these facts. */
export const OUTCOMES: Readonly<Record<OutcomeKind, Outcome>> = {
  ok: {
    http_status: 200,
    error_stage: "",
    artifact: { key: "allow_token", path: "allow-token", version: "vfa.allow_token.v1" },
    sentence: "The run was admitted, checked and sealed.",
    words: OK_WORDS,
  },
  pepg_deny: {
    http_status: 422,
    error_stage: "PEPG",
    artifact: { key: "deny_receipt", path: "deny-receipt", version: "vfa.deny_receipt.v1" },
    marker: { field: "PepgOutcome", value: "deny" },
    sentence: "The policy gate denied the run before any kernel ran.",
    words: PEPG_DENY_WORDS,
  },
  ccv_halt: {
    http_status: 422,
    error_stage: "CCV",
    artifact: { key: "ccv_halt_receipt", path: "ccv-halt-receipt", version: "vfa.ccv_halt.v1" },
    marker: { field: "CcvOutcome", value: "halted" },
    sentence: "The run declared more tokens than the per-run budget allows and was halted after its kernels.",
    words: CCV_HALT_WORDS,
  },
  macc_halt: {
    http_status: 422,
    error_stage: "MACC",
    artifact: { key: "macc_halt_receipt", path: "macc-halt-receipt", version: "vfa.macc_halt.v1" },
    marker: { field: "MaccOutcome", value: "halted" },
    sentence:
      "The run took the tenant's cumulative tokens to or beyond the window's cap and was halted after its kernels.",
    words: MACC_HALT_WORDS,
  },
  aivp_t4_halt: {
    http_status: 422,
    error_stage: "AIVP_T4",
    artifact: { key: "aivp_t4_halt_receipt", path: "aivp-t4-halt-receipt", version: "vfa.aivp_t4_halt.v1" },
    marker: { field: "AivpT4Outcome", value: "halted" },
    sentence: "The Tier-4 governance review did not release the AI output and the run was halted after its kernels.",
    words: AIVP_T4_HALT_WORDS,
  },
  attestation_gap: {
    http_status: 422,
    error_stage: "PEPG_ADMISSION",
    artifact: {
      key: "attestation_gap_receipt",
      path: "attestation-gap-receipt",
      version: "vfa.attestation_gap_receipt.v1",
    },
    sentence: "The policy requires attested fields that the request does not carry; the run was not admitted.",
    words: ATTESTATION_GAP_WORDS,
  },
  stage_error: {
    http_status: 500,
    error_stage: "",
    sentence: "A pipeline stage failed; the record is for operational diagnosis and is not an attestation.",
    words: STAGE_ERROR_WORDS,
  },
}

/** Follows the sentence on the outcome of an observed run. */
export const OBSERVED_SENTENCE = "This was observed and not enforced: nothing was stopped."

/** The sentence on an outcome, with the mark of a run that was only observed. */
export const withMark = (
  sentence: string,
  { enforcement }: { readonly enforcement?: Enforcement | undefined } = {},
): string => (enforcement === undefined ? sentence : `${sentence} ${OBSERVED_SENTENCE}`)

/** Sentence of the `error` field of a run that a signature match denied: which signature, and where. */
export const matchSentence = (signatureId: string, matchedIn: string): string =>
  `Signature ${signatureId} matched in ${matchedIn}: the run was denied before any kernel ran.`

/** The outcome that carries a receipt key; used to read receipt documents. */
export const RECEIPT_KINDS: Readonly<Record<ReceiptKey, RefusedKind>> = {
  deny_receipt: "pepg_deny",
  ccv_halt_receipt: "ccv_halt",
  macc_halt_receipt: "macc_halt",
  aivp_t4_halt_receipt: "aivp_t4_halt",
  attestation_gap_receipt: "attestation_gap",
}
export const RECEIPT_KEYS: readonly ReceiptKey[] = [
  "deny_receipt",
  "ccv_halt_receipt",
  "macc_halt_receipt",
  "aivp_t4_halt_receipt",
  "attestation_gap_receipt",
]

/** Whether an outcome is one that ends in a sealed receipt. */
export const isRefused = (kind: OutcomeKind): kind is RefusedKind => kind !== "ok" && kind !== "stage_error"
