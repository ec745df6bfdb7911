/**
 * Actions of administrators. A row is written in the transaction of its action. It is sealed as a document of the deployment's own chain, in
 * which it has the place of its ordinal: in the same transaction where the service acts, soon after it where a command does. Rows are
 * never deleted.
 */
import { canonicalize, parseStrictJson } from "@runseal/canonical"
import {
  type AdminAction,
  type EventFacts,
  eventFactsSchema,
  type SubjectKind,
} from "@runseal/core/artifacts/admin-event"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { DEPLOYMENT_TENANT } from "@runseal/core/vocabulary/scalars"
import { and, desc, eq, sql as fragment, getTableColumns, gt, lt, type SQL } from "drizzle-orm"
import { check, type PgColumn, pgTable, text, uniqueIndex } from "drizzle-orm/pg-core"
import type { Database } from "../driver/database.ts"
import type { Source, Tx } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { bytea, number, type RowOf } from "./column-types.ts"
import { document } from "./documents-table.ts"

export const admin_event = pgTable(
  "admin_event",
  {
    /** 1, 2, 3 … without a gap: the place in the deployment's chain. */
    ordinal: number().primaryKey(),
    /** Milliseconds since the epoch. */
    event_at: number(),
    /** `api-key-<id>`, `operator-command`, `open-mode` or `person`. */
    actor: text().notNull(),
    /** Name of the key when it acted, or of the person; "" for others. */
    actor_name: text().notNull(),
    /** Of a person, as the identity provider names it; "" for others. */
    actor_issuer: text().notNull().default(""),
    actor_subject: text().notNull().default(""),
    action: text().$type<AdminAction>().notNull(),
    subject_kind: text().notNull(),
    subject_id: text().notNull(),
    /** RFC 8785 text of the members that changed, as they were; "" for what did not exist. The same after it. */
    before: text().notNull(),
    after: text().notNull(),
    /** When it was sealed, milliseconds since the epoch; 0 until then, as the next. */
    sealed_at: number(),
    /** Of its document. */
    log_index: number(),
    /** SHA-256 of the idempotency key of its request, with the caller and the endpoint; no bytes for a request without one. */
    idempotency_hash: bytea().notNull().default(fragment`''::bytea`),
  },
  table => [
    check("admin_event_idempotency_hash", fragment`octet_length(${table.idempotency_hash}) in (0, 32)`),
    uniqueIndex("admin_event_idempotency")
      .on(table.idempotency_hash)
      .where(fragment`octet_length(${table.idempotency_hash}) = 32`),
  ],
)

export type AdminEventRow = RowOf<typeof admin_event>

/** What an action records. No secret and no hash of one; a long text by its hash. */
export type NewAdminEvent = Omit<EventFacts, "event_clock" | "action" | "subject"> & {
  readonly action: AdminAction
  readonly subject: { readonly kind: SubjectKind; readonly id: string }
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Hash in hex of the request's idempotency key, which the action uses up; undefined for a request without one. */
  readonly once?: string | undefined
}

/** Runs the transaction of an action. That of the service seals the event too; that of the database alone is for commands. */
export type Acts = Pick<Database, "transaction">

/** Whose chain the events are, where the others have the id of an API key. */
export const DEPLOYMENT_OWNER = -1

/** Who acts where an operator runs a command on the machine. */
export const OPERATOR_COMMAND: EventFacts["who"] = { actor: "operator-command" }

/** Key of the advisory lock under which events get their ordinals, held until the commit: "rsevent" in ASCII, read as a number. */
const EVENT_LOCK = 0x72736576656e74

/** The key that acts was revoked or has expired since its request was authenticated. Nothing of the action is committed. */
export class ActorRefused extends Error {
  override readonly name = "ActorRefused"
}

/** An action was done before under the idempotency key of the request. Nothing of this one is committed. */
export class AlreadyDone extends Error {
  override readonly name = "AlreadyDone"
}

const KEY_ACTOR = /^api-key-(\d+)$/

/** Id of the key that acts; undefined for another actor. */
export function actingKeyId({ actor }: EventFacts["who"]): number | undefined {
  const [, key_id] = KEY_ACTOR.exec(actor) ?? []
  return key_id === undefined ? undefined : Number(key_id)
}

/**
 * Holds the key that acts until the action is committed; no statement for another actor. A person's session was read when the request began.
 * @throws ActorRefused
 */
async function holdActor({ sql }: Tx, { who, at }: NewAdminEvent): Promise<void> {
  const key_id = actingKeyId(who)
  if (key_id === undefined) return
  const held = await sql`
    select key_id from api_key
    where key_id = ${key_id}::bigint and revoked_at = 0 and (expires_at = 0 or expires_at > ${at}::bigint) for share`
  if (held.length === 0) throw new ActorRefused()
}

/**
 * Records an action within the transaction that does it, as its last statement: so the event is there exactly when the action is. Where a
 * command does it, a service seals it within seconds.
 * @throws ActorRefused; AlreadyDone; Error for an event that could not be sealed: a bug of the caller
 */
export async function recordAdminEvent(tx: Tx, event: NewAdminEvent): Promise<void> {
  await holdActor(tx, event)
  await recordHeldEvent(tx, event)
}

/** The same where the transaction has judged the key that acts, and holds it. @throws AlreadyDone */
export async function recordHeldEvent({ sql }: Tx, { at, once = "", ...event }: NewAdminEvent): Promise<void> {
  const facts = parseExact(eventFactsSchema, { ...event, event_clock: new Date(at).toISOString() })
  if (!facts.ok) throw new Error(`an admin event cannot be sealed: ${facts.problem}`)
  const { who, action, subject, before, after } = facts.value
  const textOf = (state: EventFacts["before"]): string => (state === undefined ? "" : canonicalize(state))
  await sql`select pg_advisory_xact_lock(${EVENT_LOCK}::bigint)`
  const { count } = await sql`
    insert into admin_event (ordinal, event_at, actor, actor_name, actor_issuer, actor_subject, action, subject_kind,
      subject_id, before, after, sealed_at, log_index, idempotency_hash)
    select coalesce(max(ordinal), 0) + 1, ${at}::bigint, ${who.actor}::text, ${who.name ?? ""}::text,
      ${who.issuer ?? ""}::text, ${who.subject ?? ""}::text, ${action}::text, ${subject.kind}::text, ${subject.id}::text, ${textOf(before)}::text, ${textOf(after)}::text, 0, 0,
      decode(${once}, 'hex')
    from admin_event
    on conflict (idempotency_hash) where octet_length(idempotency_hash) = 32 do nothing`
  if (count === 0) throw new AlreadyDone()
}

/** What a row says, as its document has it. */
export const factsOfRow = (
  row: Pick<
    AdminEventRow,
    | "event_at"
    | "actor"
    | "actor_name"
    | "actor_issuer"
    | "actor_subject"
    | "action"
    | "subject_kind"
    | "subject_id"
    | "before"
    | "after"
  >,
): object => ({
  event_clock: new Date(row.event_at).toISOString(),
  who: {
    actor: row.actor,
    ...(row.actor_name === "" ? {} : { name: row.actor_name }),
    ...(row.actor_issuer === "" ? {} : { issuer: row.actor_issuer }),
    ...(row.actor_subject === "" ? {} : { subject: row.actor_subject }),
  },
  action: row.action,
  subject: { kind: row.subject_kind, id: row.subject_id },
  ...(row.before === "" ? {} : { before: parseStrictJson(row.before) }),
  ...(row.after === "" ? {} : { after: parseStrictJson(row.after) }),
})

const FACT_COLUMNS =
  "ordinal, event_at, actor, actor_name, actor_issuer, actor_subject, action, subject_kind, subject_id, before, after"

/** Events that one batch seals. */
const DUE_MAX = 64

/** The next events to be sealed, in their order. Behind the head's lock this is final. No statement when none is `wanted`. */
export async function dueEvents({ sql }: Tx, wanted: boolean): Promise<readonly DueEventRow[]> {
  if (!wanted) return []
  return sql.unsafe<DueEventRow[]>(`
    select ${FACT_COLUMNS} from admin_event
    where ordinal > (select coalesce(max(record_count), 0) from tenant where tenant_id = '${DEPLOYMENT_TENANT}')
    order by ordinal limit ${DUE_MAX}`)
}
/** An event that is committed and not sealed. */
export type DueEventRow = Omit<AdminEventRow, "sealed_at" | "log_index" | "idempotency_hash">

/** Whether an event is committed and not sealed. */
export function hasDueEvents(source: Source): Promise<boolean> {
  return source.read(async ({ sql }) => {
    const [row] = await sql<{ due: boolean }[]>`
      select coalesce((select max(ordinal) from admin_event), 0)
        > coalesce((select max(record_count) from tenant where tenant_id = ${DEPLOYMENT_TENANT}), 0) as due`
    return row?.due === true
  })
}

/** When and where an event is sealed, and the time of the action as sealed. */
export type SealedEventRow = Pick<AdminEventRow, "ordinal" | "event_at" | "sealed_at" | "log_index">

/** Writes what is known of events since they are sealed. */
export async function sealEventRows({ sql }: Tx, rows: readonly SealedEventRow[]): Promise<void> {
  if (rows.length === 0) return
  const { count } = await sql`
    update admin_event set event_at = next.event_at, sealed_at = next.sealed_at, log_index = next.log_index
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as next(ordinal bigint, event_at bigint, sealed_at bigint, log_index bigint)
    where admin_event.ordinal = next.ordinal and admin_event.log_index = 0`
  if (count !== rows.length) throw new StoreError("conflict")
}

export type EventFilters = {
  readonly action?: string | undefined
  readonly subject_kind?: string | undefined
  readonly subject_id?: string | undefined
}

/** An event with its document, which is null until it is sealed. */
export type ListedEventRow = AdminEventRow & { readonly document: string | null }

/** The next events, newest first. @param before an ordinal */
export function listEvents(
  source: Source,
  filters: EventFilters,
  { limit, before }: { readonly limit: number; readonly before?: number | undefined },
): Promise<readonly ListedEventRow[]> {
  const { ordinal, action, subject_kind, subject_id, log_index } = admin_event
  const wanted = <Column extends PgColumn>(column: Column, value: string | undefined): SQL | undefined =>
    value === undefined ? undefined : eq(column, value)
  return source.read(({ orm }) =>
    orm
      .select({ ...getTableColumns(admin_event), document: document.packed })
      .from(admin_event)
      .leftJoin(document, and(eq(document.log_index, log_index), gt(log_index, 0)))
      .where(
        and(
          before === undefined ? undefined : lt(ordinal, before),
          wanted(action, filters.action),
          wanted(subject_kind, filters.subject_kind),
          wanted(subject_id, filters.subject_id),
        ),
      )
      .orderBy(desc(ordinal))
      .limit(limit),
  )
}

/** The sealed document of an event; undefined when there is none yet. */
export function findEvent(source: Source, at: number): Promise<string | undefined> {
  return source.read(async ({ orm }) => {
    const { ordinal, log_index } = admin_event
    const [found] = await orm
      .select({ document: document.packed })
      .from(admin_event)
      .innerJoin(document, eq(document.log_index, log_index))
      .where(and(eq(ordinal, at), gt(log_index, 0)))
    return found?.document
  })
}
