/** What a receiver is sent, in whichever form, what all forms say of it, and what the row of an event has (`sealed-events.ts`). docs/events.md. */
import type { JsonValue, WantedMembers } from "@runseal/canonical"
import * as v from "valibot"
import type { RunEventData, SealedEvent } from "../wire/event-messages.ts"

/** The event of a sealed document, as far as all types of events are alike. */
export type LoggedEvent = Pick<SealedEvent, "id" | "timestamp" | "position"> & {
  readonly type: string
  /** With the outcome, where it is of a run. */
  readonly data: Pick<RunEventData, "key_id" | "tenant_id" | "tenant_ordinal" | "leaf_digest"> & {
    readonly outcome?: string
  }
}
/** What a test of a destination sends: no document is behind it. */
export type TestEvent = {
  readonly id: string
  readonly type: "test"
  readonly timestamp: string
  readonly data: { readonly log_origin: string }
}
export type SentEvent = LoggedEvent | TestEvent

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

/** What every form says of an event. A member is absent where the type has nothing of it. */
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
export type RunEvent = Extract<SealedEvent, { type: "run.sealed" | "permit.closed" }>
export type Asked = RunEvent["data"] | Extract<SealedEvent, { type: "permit.opened" | "approval.requested" }>["data"]

/** The permit of an act that was asked for, where there is one. */
export const permitOf = (asked: Asked): string | undefined => ("permit_id" in asked ? asked.permit_id : undefined)

/** A sealed document, as it is stored. */
export type StoredDocument = {
  /** As reports name it. */
  readonly kind: string
  readonly log_index: number
  /** Id of the API key whose document it is; 0 for the deployment's own. */
  readonly owner: number
  /** Its place in its chain. */
  readonly chain_ordinal: number
  readonly leaf_digest: string
  /** Findings of a run, `CODE:count` with spaces in between, and the hash of its manifest; empty for any other document. */
  readonly findings: string
  readonly manifest_hash: string
}

/** Where an event is, and whose document. */
type EventPlace = {
  readonly event: Pick<LoggedEvent, "id" | "position">
  readonly data: Pick<RunEventData, "key_id" | "tenant_ordinal" | "leaf_digest">
}

/** The events of one kind of document. */
export type EventRow = {
  /** The kind, as reports name it. */
  readonly document: string
  /** The members of a stored document that the event shows; undefined where all are read. */
  readonly members: WantedMembers | undefined
  /** The event of a stored document with at least these members; undefined for a value that is none of the kind. */
  readonly eventOf: (value: JsonValue, document: StoredDocument) => LoggedEvent | undefined
  /** What forms say of an event; undefined for an event of another row. */
  readonly accountOf: (event: LoggedEvent) => EventAccount | undefined
}

/** A row before its types are closed over. */
type TypedRow<Stored, Event extends LoggedEvent> = Pick<EventRow, "document"> & {
  readonly members?: WantedMembers
  /** The shape of what the event shows. The document was verified when it was sealed. */
  readonly stored: v.GenericSchema<unknown, Stored>
  readonly types: readonly Event["type"][]
  readonly event: (stored: Stored, place: EventPlace, document: StoredDocument) => Event
  readonly account: (event: Event) => EventAccount
}

/** The row of a kind: what its documents say as events, and what forms make of these. */
export function eventRow<Stored, Event extends LoggedEvent>({
  document,
  members,
  stored,
  types,
  event: make,
  account,
}: TypedRow<Stored, Event>): EventRow {
  const isOfRow = (event: LoggedEvent): event is Event => types.includes(event.type)
  return {
    document,
    members,
    eventOf: (value, sealed) => {
      const parsed = v.safeParse(stored, value)
      return parsed.success ? make(parsed.output, placeOf(sealed), sealed) : undefined
    },
    accountOf: event => (isOfRow(event) ? account(event) : undefined),
  }
}

const placeOf = ({ log_index, owner, chain_ordinal, leaf_digest }: StoredDocument): EventPlace => ({
  event: { id: `evt_${leaf_digest.slice(0, 32)}`, position: log_index },
  data: { key_id: owner, tenant_ordinal: chain_ordinal, leaf_digest },
})
