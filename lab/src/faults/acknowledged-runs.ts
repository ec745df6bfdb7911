/** The clients' view of a deployment: every request with its answer, every checkpoint and every record they received. */
import type { JsonObject } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { Answer } from "../../../apps/server/spec/harness/read-answer.ts"

/** A request; its record contains the name as `route_id` or `subject_ref`. */
export type Sent = {
  readonly name: string
  /** Which of the callers sent it. */
  readonly caller: number
  readonly path: "/execute" | "/attest"
  readonly body: JsonObject
  /** The answer with its record; absent when there was none. */
  acknowledged?: Answer
  /** Whether its record was read back and matches the answer. */
  readBack?: true
}

export type SeenRun = { readonly run_id: number; readonly name: string; readonly bundle: Bundle; readonly text: string }

export type Memory = {
  readonly sent: Sent[]
  /** Answers that no fault explains: neither a record nor a refusal that allows a retry. */
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
  /** Statements of exports that were read: index in the log to the document. */
  readonly exports: Map<number, string>
  /** Events of administrators that were read back: ordinal to index in the log. */
  readonly events: Map<number, number>
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
  exports: new Map(),
  events: new Map(),
  attested: new Map(),
})

/** Whether an answer is a record: a run of whatever outcome, or an attestation. */
export const isRecord = ({ status, body }: Answer): boolean => status === 201 || typeof body.run_id === "number"

/** Whether an answer is a refusal that allows a retry: a 503 with `Retry-After`, or a 409 because the first request is still running. */
export const isBusy = ({ status, headers, body }: Answer): boolean =>
  (status === 503 || status === 409) && headers.has("retry-after") && body.ok === false
