/**
 * Actions of administrators. A row is written in the transaction of its action, and sealed soon after as a document of the deployment's own
 * chain, in which it has the place of its ordinal. Rows are never deleted.
 */
import { canonicalize } from "@runseal/canonical"
import { type AdminAction, type EventFacts, eventFactsSchema } from "@runseal/core/artifacts/admin-event"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { pgTable, text } from "drizzle-orm/pg-core"
import type { Tx } from "../driver/session.ts"
import { number, packedBundle, type RowOf } from "./column-types.ts"

export const admin_event = pgTable("admin_event", {
  /** 1, 2, 3 … without a gap: the place in the deployment's chain. */
  ordinal: number().primaryKey(),
  /** Milliseconds since the epoch. */
  event_at: number(),
  /** `api-key-<id>`, `operator-command` or `open-mode`. */
  actor: text().notNull(),
  /** Name of the key when it acted; "" for others. */
  actor_name: text().notNull(),
  action: text().$type<AdminAction>().notNull(),
  subject_kind: text().notNull(),
  subject_id: text().notNull(),
  /** RFC 8785 text of the members that changed, as they were; "" for what did not exist. The same after it. */
  before: text().notNull(),
  after: text().notNull(),
  /** Of the sealed document, as all that follows; 0 and "" until then. */
  sealed_at: number(),
  log_index: number(),
  leaf_digest: text().notNull(),
  /** The document's RFC 8785 text; no bytes until it is sealed. */
  document: packedBundle().notNull(),
})

export type AdminEventRow = RowOf<typeof admin_event>

/** What an action records. No secret and no hash of one; a long text by its hash. */
export type NewAdminEvent = Omit<EventFacts, "event_clock" | "action"> & {
  readonly action: AdminAction
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Who acts where an operator runs a command on the machine. */
export const OPERATOR_COMMAND: EventFacts["who"] = { actor: "operator-command" }

/** Key of the advisory lock under which events get their ordinals, held until the commit: "rsevent" in ASCII, read as a number. */
const EVENT_LOCK = 0x72736576656e74

/**
 * Records an action within the transaction that does it, as its last statement: so the event is there exactly when the action is. It is
 * sealed within seconds (`deps.adminEvents.sweep` after the commit), by this process or another.
 * @throws Error for an event that could not be sealed: a bug of the caller
 */
export async function recordAdminEvent({ sql }: Tx, { at, ...said }: NewAdminEvent): Promise<void> {
  const facts = parseExact(eventFactsSchema, { ...said, event_clock: new Date(at).toISOString() })
  if (!facts.ok) throw new Error(`an admin event cannot be sealed: ${facts.problem}`)
  const { who, action, subject, before, after } = facts.value
  const textOf = (state: EventFacts["before"]): string => (state === undefined ? "" : canonicalize(state))
  await sql`select pg_advisory_xact_lock(${EVENT_LOCK}::bigint)`
  await sql`
    insert into admin_event (ordinal, event_at, actor, actor_name, action, subject_kind, subject_id, before, after,
      sealed_at, log_index, leaf_digest, document)
    select coalesce(max(ordinal), 0) + 1, ${at}::bigint, ${who.actor}::text, ${who.name ?? ""}::text, ${action}::text,
      ${subject.kind}::text, ${subject.id}::text, ${textOf(before)}::text, ${textOf(after)}::text, 0, 0, '', ''::bytea
    from admin_event`
}
