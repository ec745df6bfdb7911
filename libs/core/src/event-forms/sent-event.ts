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

/** What every form says of an event: one case of `accountOf` a type. A member is absent where the type has nothing of it. */
export type EventAccount = {
  readonly weight: Weight
  /** One sentence for people. */
  readonly sentence: string
  /** Digest of the sealed document. */
  readonly hash?: string
  readonly activity: "create" | "update" | "other"
  /** `permit.open`; of an administrator the action. */
  readonly operation: string
  readonly failed: boolean
  readonly who: { readonly name: string; readonly role: "tenant" | "administrator" | "service" }
  /** Absent for a run in which a stage failed. */
  readonly decision?: Decision
  readonly outcome?: string
  readonly reason?: string
  /** What the event is about. */
  readonly resources?: readonly { readonly type: string; readonly uid: string }[]
  /** The act that was asked for. */
  readonly asked?: Asked
}
type RunEvent = Extract<SealedEvent, { type: "run.sealed" | "permit.closed" }>
/** The permit of an act that was asked for, where there is one. */
export const permitOf = (asked: Asked): string | undefined => ("permit_id" in asked ? asked.permit_id : undefined)

type Asked = RunEvent["data"] | Extract<SealedEvent, { type: "permit.opened" | "approval.requested" }>["data"]

export function accountOf(event: SentEvent): EventAccount {
  switch (event.type) {
    case "run.sealed":
      return { ...runAccount(event, "Run"), activity: "create", operation: "execute" }
    case "permit.closed":
      return { ...runAccount(event, "Permitted run"), activity: "update", operation: "permit.close" }
    case "approval.requested":
      return {
        ...askedFor(event.data),
        weight: "low",
        sentence: "Approval of people requested",
        hash: event.data.request_hash,
        activity: "create",
        operation: "approval.request",
        failed: false,
      }
    case "permit.opened":
      return {
        ...askedFor(event.data),
        weight: "informational",
        sentence: "Permit opened",
        hash: event.data.opening_hash,
        activity: "create",
        operation: "permit.open",
        failed: false,
        decision: "allowed",
      }
    case "permit.ended": {
      const { tenant_id, reason, permits, end_hash } = event.data
      return {
        weight: "low",
        sentence: `Permits ended without a close: ${reason}`,
        hash: end_hash,
        activity: "update",
        operation: "permit.end",
        failed: true,
        who: { name: tenant_id, role: "tenant" },
        reason,
        resources: permits.map(({ permit_id }) => ({ type: "permit", uid: permit_id })),
      }
    }
    case "admin.event": {
      const { actor, action, subject, event_hash } = event.data
      return {
        weight: "low",
        sentence: `Administrator: ${action}`,
        hash: event_hash,
        activity: "other",
        operation: action,
        failed: false,
        who: { name: actor, role: "administrator" },
        resources: [{ type: subject.kind, uid: subject.id }],
      }
    }
    case "test":
      return {
        weight: "informational",
        sentence: "Test of a destination",
        activity: "other",
        operation: "test",
        failed: false,
        who: { name: "runseal", role: "service" },
      }
  }
}

function runAccount({ data }: RunEvent, what: string): Omit<EventAccount, "activity" | "operation"> {
  const { run_id, outcome, act_outcome, bundle_hash } = data
  const decision = decisionOf(data)
  const observed = decision === "observed" ? " (observed: nothing was stopped)" : ""
  return {
    ...askedFor(data),
    weight: weightOf(data),
    sentence: `${what} ${run_id} ended as ${outcome}${observed}`,
    hash: bundle_hash,
    failed: outcome !== "ok" || act_outcome === "failed",
    ...(decision === undefined ? {} : { decision }),
    outcome,
  }
}

const askedFor = (asked: Asked): Pick<EventAccount, "who" | "reason" | "resources" | "asked"> => ({
  who: { name: asked.tenant_id, role: "tenant" },
  ...(asked.reason_code === undefined ? {} : { reason: asked.reason_code }),
  resources: [{ type: "route", uid: asked.route_id }],
  asked,
})

function decisionOf({ outcome, enforcement }: RunEvent["data"]): Decision | undefined {
  if (outcome === "stage_error") return undefined
  if (outcome === "ok") return "allowed"
  return enforcement === undefined ? "denied" : "observed"
}

function weightOf({ outcome, act_outcome }: RunEvent["data"]): Weight {
  if (outcome === "stage_error") return "high"
  if (outcome !== "ok") return "medium"
  return act_outcome === "failed" ? "low" : "informational"
}
