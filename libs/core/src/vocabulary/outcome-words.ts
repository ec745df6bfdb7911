/**
 * What a report says of an outcome: the part of the table of outcomes that people read. Every sentence is true of every
 * record of its outcome; what differs from run to run is read from the record.
 */

/** What a record of the outcome is good for: evidence of a run that every gate let pass, evidence of a refusal, or no evidence at all. */
export type Standing = "attestation" | "refusal" | "diagnosis"

export type OutcomeWords = {
  readonly standing: Standing
  /** Title of the report. */
  readonly title: string
  /** What happened to the run, after its name: "Run 7 was denied". */
  readonly ending: string
  /** What would have happened to a run that was only observed: "it would have been denied". */
  readonly would: string
  /** The outcome at a glance. */
  readonly verdict: string
  /** Title of the part that shows the sealed record. */
  readonly record_title: string
  /** How the Executive Summary frames the outcome; what it says of anchors follows. */
  readonly framing: string
  /** What enforcement came to in such a run. */
  readonly enforcement: string
  /** Title of the proof part, the hash in its banner, and what that hash is. */
  readonly proof: { readonly title: string; readonly hash_name: string; readonly meaning: string }
  /** Which stages made an artifact. */
  readonly stages: string
  /** The verification statement. */
  readonly statement: string
}

/** Beside the words "execution record" and "execution manifest", which are names of the service's own documents. */
export const EXECUTION_MEANS =
  "Execution here means the nine stages of the service: it does not run the caller's program."

export const OK_WORDS: OutcomeWords = {
  standing: "attestation",
  ending: "was admitted, checked and sealed",
  would: "every gate would have let it pass",
  title: "Run Attestation Report",
  verdict: "Admitted, checked and sealed",
  record_title: "Sealed Record",
  framing:
    "This is the record of a run that passed every stage and gate. It attests what the service was given, what its gates decided and what its kernels computed; the execution manifest seals the result.",
  enforcement: "This run has an execution record because all five gates let it pass.",
  proof: {
    title: "Proof of the Sealed Run",
    hash_name: "Manifest hash",
    meaning:
      "The SHA-256 of the execution manifest in its canonical form (RFC 8785), without this hash. The manifest names the artifacts of the run by their hashes.",
  },
  stages:
    "All nine stages ran. The table has the hashes of what they made, as the execution manifest seals them. Stage REGISTRY seals a list whose hash is part of the final seal (FinalVfaHash).",
  statement:
    "This record attests that the service admitted the run under the policy it names, ran the six kernels, found the declared tokens within both budgets, recorded a release by the governance review, and sealed the result in the execution manifest whose hash is shown above. It does not attest that what the caller declared is true, or that its program was run.",
}

export const PEPG_DENY_WORDS: OutcomeWords = {
  standing: "refusal",
  ending: "was denied",
  would: "it would have been denied",
  title: "Policy Denial Report",
  verdict: "Denied by the policy gate",
  record_title: "Deny Receipt",
  framing:
    "This is the record of a refusal. The policy gate denied the request, and the deny receipt is the seal of that decision; it attests no execution.",
  enforcement: "This run was refused at the policy gate: no allow token was issued, and no kernel ran.",
  proof: {
    title: "Proof of the Denial",
    hash_name: "Deny receipt hash",
    meaning: "The SHA-256 of the deny receipt in its canonical form (RFC 8785), without this hash.",
  },
  stages:
    "Execution halted before any pipeline artifact existed. The policy gate decides on the request, which the record holds as an envelope and a transport record; it denied the request, so no kernel ran. There is no execution record and no execution manifest. The partial manifest names the request and the denial alone.",
  statement:
    "This record attests that the policy gate denied the run and that no kernel ran for it. The deny receipt seals that decision with the rule or signature behind it. The record attests no execution. It does not attest that what the caller declared is true.",
}

export const CCV_HALT_WORDS: OutcomeWords = {
  standing: "refusal",
  ending: "was halted",
  would: "it would have been halted",
  title: "Run Budget Halt Report",
  verdict: "Halted by the budget of one run",
  record_title: "CCV Halt Receipt",
  framing:
    "This is the record of a halt. The run was admitted and its kernels ran; it was then halted because it declared more tokens than one run may use. The CCV halt receipt is the seal of that halt, and attests no run that passed every gate.",
  enforcement:
    "This run was halted at the CCV gate: its kernels had run, and no later stage ran. A run without a permit leaves the tenant's window as it was; one that closes a permit settles what was reserved.",
  proof: {
    title: "Proof of the Run Budget Halt",
    hash_name: "CCV halt receipt hash",
    meaning: "The SHA-256 of the CCV halt receipt in its canonical form (RFC 8785), without this hash.",
  },
  stages:
    "Stages DOG, DTL and DKEC ran: the run has an envelope, a transport record and six kernel records. The CCV gate, directly after DKEC, halted it. The gates MACC and AIVP_T4 were not reached, no stage from AER on ran, and there is no execution manifest.",
  statement:
    "This record attests that the run was admitted, that its six kernels ran, and that it was halted because its declared tokens exceed the budget of one run. The CCV halt receipt seals the halt. The token count is the caller's declaration. The record attests no run that passed every gate.",
}

export const MACC_HALT_WORDS: OutcomeWords = {
  standing: "refusal",
  ending: "was halted",
  would: "it would have been halted",
  title: "Cumulative Budget Halt Report",
  verdict: "Halted by the tenant's cumulative budget",
  record_title: "MACC Halt Receipt",
  framing:
    "This is the record of a halt. The run was admitted and its kernels ran; it was then halted because it took the tokens of its tenant to the cap of the budget window or beyond. The MACC halt receipt is the seal of that halt, and attests no run that passed every gate.",
  enforcement:
    "This run was halted at the MACC gate: its kernels had run, and no later stage ran. Its tokens stay charged to the tenant's window; an opening of a permit that is refused reserves nothing.",
  proof: {
    title: "Proof of the Cumulative Budget Halt",
    hash_name: "MACC halt receipt hash",
    meaning: "The SHA-256 of the MACC halt receipt in its canonical form (RFC 8785), without this hash.",
  },
  stages:
    "Stages DOG, DTL and DKEC ran: the run has an envelope, a transport record and six kernel records. The CCV gate let it pass and the MACC gate halted it. The gate AIVP_T4 was not reached, no stage from AER on ran, and there is no execution manifest.",
  statement:
    "This record attests that the run was admitted, that its six kernels ran, and that it was halted because the tokens charged to its tenant's window reached or passed the cap. The MACC halt receipt seals the halt. The token counts are what callers declared. The record attests no run that passed every gate.",
}

export const AIVP_T4_HALT_WORDS: OutcomeWords = {
  standing: "refusal",
  ending: "was halted",
  would: "it would have been halted",
  title: "Governance Review Halt Report",
  verdict: "Halted by the governance review",
  record_title: "AIVP-T4 Halt Receipt",
  framing:
    "This is the record of a halt. The run was admitted and its kernels ran; it was then halted because the Tier-4 governance review did not release the AI output. The AIVP-T4 halt receipt is the seal of that halt, and attests no run that passed every gate.",
  enforcement:
    "This run was halted at the AIVP_T4 gate: its kernels had run, and no later stage ran. The text of the AI output is not stored; its hash is.",
  proof: {
    title: "Proof of the Governance Review Halt",
    hash_name: "AIVP-T4 halt receipt hash",
    meaning: "The SHA-256 of the AIVP-T4 halt receipt in its canonical form (RFC 8785), without this hash.",
  },
  stages:
    "Stages DOG, DTL and DKEC ran: the run has an envelope, a transport record and six kernel records. The gates CCV and MACC let it pass and the gate AIVP_T4 halted it. No stage from AER on ran, and there is no execution manifest.",
  statement:
    "This record attests that the run was admitted, that its six kernels ran, and that it was halted because the named reviewer did not release the AI output. The AIVP-T4 halt receipt seals the halt. The record says what the reviewer decided, not that the decision is right. It attests no run that passed every gate.",
}

export const ATTESTATION_GAP_WORDS: OutcomeWords = {
  standing: "refusal",
  ending: "was not admitted",
  would: "it would not have been admitted",
  title: "Attestation Gap Report",
  verdict: "Not admitted: attested fields are missing",
  record_title: "Attestation Gap Receipt",
  framing:
    "This is the record of a request that was not admitted, because attested fields that the policy requires are missing in it or say nothing. The attestation gap receipt is the seal of that finding, and attests no execution.",
  enforcement:
    "This run was refused at admission: the policy's rules were not evaluated, no allow token was issued, and no kernel ran.",
  proof: {
    title: "Proof of the Attestation Gap",
    hash_name: "Attestation gap receipt hash",
    meaning: "The SHA-256 of the attestation gap receipt in its canonical form (RFC 8785), without this hash.",
  },
  stages:
    "The run was not admitted. The record holds the request as an envelope and a transport record, which stages DOG and DTL made; the gate PEPG_ADMISSION stopped it there. No kernel ran, and there is neither an execution manifest nor a partial manifest.",
  statement:
    "This record attests that the run was not admitted, because the attested fields that the receipt names as missing are not in the request or say nothing. The policy's rules were not evaluated and no kernel ran. The attestation gap receipt seals that finding. The record attests no execution.",
}

export const STAGE_ERROR_WORDS: OutcomeWords = {
  standing: "diagnosis",
  ending: "failed",
  would: "it failed, which is no attestation",
  title: "Stage Error Record",
  verdict: "Failed: not an attestation",
  record_title: "Diagnostic Record",
  framing:
    "This record is for operational diagnosis only and is not an attestation. It says which step failed and which steps had passed until then; nobody may rely on it as evidence that the run was admitted, sealed as passed, or refused.",
  enforcement:
    "A step of this run failed. A failed step never counts as a pass, so the run has neither an execution manifest nor a receipt.",
  proof: {
    title: "Identity of the Diagnostic Record",
    hash_name: "Bundle hash",
    meaning:
      "The hash of this diagnostic record as a whole. It is no proof of an execution or of a refusal: a stage error has neither a manifest nor a receipt.",
  },
  stages:
    "The run ended when a step of the pipeline failed. The record holds the sections that had been made; it has no transcript, no manifest and no receipt.",
  statement:
    "This record is for operational diagnosis only and is not an attestation. That its hashes and its log entry verify shows only that the record was not changed since it was sealed. It is no evidence that the run was admitted, sealed as passed, or refused.",
}
