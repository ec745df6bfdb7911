/** What the clients of a deployment remember: every request with its answer, every checkpoint and every record they saw. */
import type { JsonObject } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { Answer } from "../../../apps/server/spec/harness/read-answer.ts"

/** A request; its name stands in what is sealed of it, as `route_id` or `subject_ref`. */
export type Sent = {
  readonly name: string
  /** Which of the callers sent it. */
  readonly caller: number
  readonly path: "/execute" | "/attest"
  readonly body: JsonObject
  /** The answer with its record; absent while, or when, nothing was acknowledged. */
  acknowledged?: Answer
  /** Whether its record was read back and is what the answer said. */
  kept?: true
}

export type SeenRun = { readonly run_id: number; readonly name: string; readonly bundle: Bundle; readonly text: string }

export type Memory = {
  readonly sent: Sent[]
  /** Answers that no fault excuses: neither a record nor a refusal to come back to. */
  readonly unexpected: string[]
  /** Signed notes, oldest first. */
  readonly checkpoints: string[]
  /** The published trust document, as first seen. */
  trust: string | undefined
  /** Every run that was read back, by number. */
  readonly runs: Map<number, SeenRun>
  /** For each caller its last record that was read back, and how many there were. */
  readonly chains: Map<number, { readonly last: Bundle; readonly count: number }>
  /** Attestations that were read back: subject to index in the log. */
  readonly attestations: Map<string, number>
  /** For each caller how many attestations were read back. */
  readonly attested: Map<number, number>
}

export const newMemory = (): Memory => ({
  sent: [],
  unexpected: [],
  checkpoints: [],
  trust: undefined,
  runs: new Map(),
  chains: new Map(),
  attestations: new Map(),
  attested: new Map(),
})

/** Whether an answer is a record: a run of whatever outcome, or an attestation. */
export const isRecord = ({ status, body }: Answer): boolean => status === 201 || typeof body.run_id === "number"

/** Whether an answer is a refusal that invites to come back: a 503 that says when, or a first request still under way. */
export const isBusy = ({ status, headers, body }: Answer): boolean =>
  (status === 503 || status === 409) && headers.has("retry-after") && body.ok === false
