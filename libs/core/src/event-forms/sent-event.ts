/** What a receiver is sent, in whichever form, and what all forms say of it. docs/events.md. */
import type { SealedEvent } from "../wire/event-messages.ts"

/** What a test of a destination sends: no document is behind it. */
export type TestEvent = {
  readonly id: string
  readonly type: "test"
  readonly timestamp: string
  readonly data: { readonly log_origin: string }
}
export type SentEvent = SealedEvent | TestEvent

/** The service that sends. */
export type Sender = {
  /** Of its log: the name of the deployment. */
  readonly log_origin: string
  /** Release of the service. */
  readonly version: string
}

/** How much an event matters to those who watch: each form has a scale of its own. */
export type Weight = "informational" | "low" | "medium" | "high"

/** What the service decided of an act. `observed`: it would have been refused, and nothing was stopped. */
export type Decision = "allowed" | "denied" | "observed"

/** @returns undefined for an event that decided nothing, and for a run in which a stage failed */
export function decisionOf(event: SentEvent): Decision | undefined {
  if (event.type === "permit.opened") return "allowed"
  if (!("outcome" in event.data) || event.data.outcome === "stage_error") return undefined
  if (event.data.outcome === "ok") return "allowed"
  return event.data.enforcement === undefined ? "denied" : "observed"
}

export function weightOf(event: SentEvent): Weight {
  switch (event.type) {
    case "run.sealed":
    case "permit.closed":
      if (event.data.outcome === "stage_error") return "high"
      if (event.data.outcome !== "ok") return "medium"
      return event.data.act_outcome === "failed" ? "low" : "informational"
    case "permit.ended":
    case "admin.event":
      return "low"
    case "permit.opened":
    case "test":
      return "informational"
  }
}

/** Digest of the sealed document; undefined for a test. */
export function documentHash(event: SentEvent): string | undefined {
  switch (event.type) {
    case "run.sealed":
    case "permit.closed":
      return event.data.bundle_hash
    case "permit.opened":
      return event.data.opening_hash
    case "permit.ended":
      return event.data.end_hash
    case "admin.event":
      return event.data.event_hash
    case "test":
      return undefined
  }
}

/** One sentence for people. */
export function sentenceOf(event: SentEvent): string {
  switch (event.type) {
    case "run.sealed":
    case "permit.closed": {
      const what = event.type === "run.sealed" ? "Run" : "Permitted run"
      const observed = decisionOf(event) === "observed" ? " (observed: nothing was stopped)" : ""
      return `${what} ${event.data.run_id} ended as ${event.data.outcome}${observed}`
    }
    case "permit.opened":
      return "Permit opened"
    case "permit.ended":
      return `Permits ended without a close: ${event.data.reason}`
    case "admin.event":
      return `Administrator: ${event.data.action}`
    case "test":
      return "Test of a destination"
  }
}
