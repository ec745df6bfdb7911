/**
 * Where events are delivered, and how far each delivery is. The sealed documents are the outbox: they are stored in the order of the log, and
 * a destination is a cursor over them. So sealing writes nothing for a destination. Decision 0190.
 */

import { sha256Hex, utf8Encode } from "@runseal/canonical"
import type { DeliveryFault } from "@runseal/core/wire/delivery-messages"
import { type DestinationKind, type EventFormat, MAX_DESTINATIONS } from "@runseal/core/wire/event-messages"
import { and, asc, eq, sql as fragment } from "drizzle-orm"
import { boolean, pgTable, text } from "drizzle-orm/pg-core"
import type { Sink, Source } from "../driver/session.ts"
import { type Acts, type NewAdminEvent, recordAdminEvent } from "./admin-events.ts"
import { number, type RowOf } from "./column-types.ts"

export const destination = pgTable("destination", {
  /** 1, 2, 3 …; a number is never given again. */
  destination_id: number().primaryKey(),
  kind: text().$type<DestinationKind>().notNull(),
  url: text().notNull(),
  /** Certificates in PEM by which alone the receiver is verified; "": those that Node trusts. */
  ca: text().notNull().default(""),
  name: text().notNull(),
  format: text().$type<EventFormat>().notNull(),
  /** Filters: values with spaces between them; "" passes everything. */
  types: text().notNull(),
  outcomes: text().notNull(),
  key_ids: text().notNull(),
  active: boolean().notNull(),
  /** Its secret follows from this text and a secret of the keys folder. */
  secret_salt: text().notNull(),
  /** That of the secret before the last rotation, which signs too until then: milliseconds since the epoch. "" and 0: none. */
  previous_salt: text().notNull(),
  previous_until: number(),
  /** Milliseconds since the epoch. */
  created_at: number(),
  /** Id of the admin key. */
  created_by: number(),
  /** 0 = not deleted. */
  deleted_at: number(),
  /** Log index from which on entries are to be delivered. */
  position: number(),
  /** Positions from there on that are delivered already, with spaces between them: events of tenants that do not wait for one that is refused. */
  taken: text().notNull().default(""),
  /** When an event was taken last; 0 = never. */
  delivered_at: number(),
  /** Failures in a row, what the last one was, its HTTP status (0 = none), and since when: milliseconds since the epoch. */
  failures: number(),
  fault: text().$type<DeliveryFault | "">().notNull(),
  fault_status: number(),
  failing_since: number(),
  /** No attempt before this time. As the lease, milliseconds of the database's clock. */
  next_try_at: number(),
  /** The process that delivers, and until when others leave it to that one. */
  holder: text().notNull(),
  lease_until: number(),
})

export type DestinationRow = RowOf<typeof destination>

/** Key of the advisory lock under which one destination at a time is made: "rsdest" in ASCII, read as a number. */
const CREATE_LOCK = 0x727364657374

const { destination_id, deleted_at, position, lease_until, next_try_at } = destination
/** One that is not deleted. */
export const isThere = (id: number) => and(eq(destination_id, id), eq(deleted_at, 0))

export type NewDestination = Pick<
  DestinationRow,
  | "kind"
  | "url"
  | "ca"
  | "name"
  | "format"
  | "types"
  | "outcomes"
  | "key_ids"
  | "secret_salt"
  | "created_at"
  | "created_by"
> & {
  /** Undefined: the end of the log. */
  readonly from: number | undefined
}

/** Who does what to a destination, and when. */
export type DestinationAct = Pick<NewAdminEvent, "at" | "who" | "once"> & {
  readonly action: Extract<NewAdminEvent["action"], `webhook.${string}`>
}

/** What an admin event shows of a destination. Of the address no path and no query: they may hold a token of the receiver. */
const shownState = (row: DestinationRow) => ({
  origin: originOf(new URL(row.url)),
  ...(row.ca === "" ? {} : { ca_sha256: sha256Hex(utf8Encode(row.ca)) }),
  name: row.name,
  kind: row.kind,
  format: row.format,
  types: row.types,
  outcomes: row.outcomes,
  key_ids: row.key_ids,
  active: row.active,
})
/** `URL.origin` has no value for schemes that browsers do not know. */
const originOf = ({ protocol, host }: URL): string => `${protocol}//${host}`
const subjectOf = (id: number) => ({ kind: "destination" as const, id: `${id}` })

/** Stores a destination. @returns undefined when there are MAX_DESTINATIONS */
export function insertDestination(
  acts: Acts,
  { from, ...row }: NewDestination,
  act: DestinationAct,
): Promise<DestinationRow | undefined> {
  return acts.transaction(async tx => {
    const { sql, orm } = tx
    await sql`select pg_advisory_xact_lock(${CREATE_LOCK}::bigint)`
    const [found] = await sql<{ last: number; active: number; size: number }[]>`
      select coalesce(max(destination_id), 0) as last, count(*) filter (where deleted_at = 0) as active,
        (select size from log_head) as size
      from destination`
    const { last = 0, active = 0, size = 0 } = found ?? {}
    if (active >= MAX_DESTINATIONS) return undefined
    const none = { previous_salt: "", previous_until: 0, deleted_at: 0, delivered_at: 0, next_try_at: 0 }
    const fine = {
      failures: 0,
      fault: "",
      fault_status: 0,
      failing_since: 0,
      holder: "",
      lease_until: 0,
      taken: "",
    } as const
    const [made] = await orm
      .insert(destination)
      .values({ ...row, ...none, ...fine, destination_id: last + 1, active: true, position: from ?? size })
      .returning()
    if (made !== undefined)
      await recordAdminEvent(tx, { ...act, subject: subjectOf(made.destination_id), after: shownState(made) })
    return made
  })
}

/** Those that are not deleted, oldest first. */
export function listDestinations(source: Source): Promise<readonly DestinationRow[]> {
  return source.read(({ orm }) => orm.select().from(destination).where(eq(deleted_at, 0)).orderBy(asc(destination_id)))
}

/** One that is not deleted. */
export async function findDestination(source: Source, id: number): Promise<DestinationRow | undefined> {
  const [found] = await source.read(({ orm }) => orm.select().from(destination).where(isThere(id)))
  return found
}

type Changes = Partial<
  Pick<DestinationRow, "url" | "ca" | "name" | "format" | "types" | "outcomes" | "key_ids" | "active">
>

/** Changes a destination; the next attempt is made at once. @returns undefined when there is none */
export function changeDestination(
  acts: Acts,
  id: number,
  changes: Changes,
  act: DestinationAct,
): Promise<DestinationRow | undefined> {
  return acts.transaction(async tx => {
    const [before] = await tx.orm.select().from(destination).where(isThere(id)).for("update")
    if (before === undefined) return undefined
    const [changed] = await tx.orm
      .update(destination)
      // Another receiver has taken nothing yet.
      .set({ ...changes, next_try_at: 0, ...(changes.url === undefined ? {} : { taken: "" }) })
      .where(isThere(id))
      .returning()
    if (changed === undefined) return undefined
    await recordAdminEvent(tx, {
      ...act,
      subject: subjectOf(id),
      before: shownState(before),
      after: shownState(changed),
    })
    return changed
  })
}

/** Deletes a destination; one that is deleted keeps its first time. @returns whether there is or was one */
export function deleteDestination(acts: Acts, id: number, act: DestinationAct): Promise<boolean> {
  return acts.transaction(async tx => {
    // The lock alone is committed as the deletion was: a retry is answered once a standby has both.
    const [before] = await tx.orm.select().from(destination).where(eq(destination_id, id)).for("update")
    if (before?.deleted_at !== 0) return before !== undefined
    await tx.orm.update(destination).set({ deleted_at: act.at }).where(isThere(id))
    await recordAdminEvent(tx, { ...act, subject: subjectOf(id), before: shownState(before) })
    return true
  })
}

/** Gives a webhook another secret. The one before signs too until then. @returns whether there is such a webhook */
export function rotateSecret(
  acts: Acts,
  id: number,
  { salt, previous_until }: { readonly salt: string; readonly previous_until: number },
  act: DestinationAct,
): Promise<boolean> {
  const next = { secret_salt: salt, previous_salt: fragment`${destination.secret_salt}`, previous_until }
  return acts.transaction(async tx => {
    const { count } = await tx.orm
      .update(destination)
      .set(next)
      .where(and(isThere(id), eq(destination.kind, "webhook")))
    if (count === 1)
      await recordAdminEvent(tx, {
        ...act,
        subject: subjectOf(id),
        after: { previous_until: new Date(previous_until).toISOString() },
      })
    return count === 1
  })
}

/**
 * Sets the next position to deliver, at most the end of the log, and ends the lease: a delivery under way does not move it any more.
 * @returns the position; undefined when there is no such destination
 */
export function resumeDestination(
  acts: Acts,
  id: number,
  from: number,
  act: DestinationAct,
): Promise<number | undefined> {
  return acts.transaction(async tx => {
    const [before] = await tx.orm.select({ position }).from(destination).where(isThere(id)).for("update")
    const [after] = await tx.orm
      .update(destination)
      .set({
        position: fragment`least(${from}::bigint, (select size from log_head))`,
        ...{ failures: 0, fault: "", fault_status: 0, failing_since: 0, next_try_at: 0, holder: "", lease_until: 0 },
        taken: "",
      })
      .where(isThere(id))
      .returning({ position })
    if (before === undefined || after === undefined) return undefined
    await recordAdminEvent(tx, { ...act, subject: subjectOf(id), before, after })
    return after.position
  })
}

// How far each delivery is, and which process delivers: the lease and the cursor of a destination. Decision 0190.

/** Milliseconds of the database's clock. */
const databaseNow = fragment`(extract(epoch from clock_timestamp()) * 1000)::bigint`

/** The destinations that have something to deliver now and that no other process delivers to. One statement: every process polls it. */
export function findDueDestinations(source: Source, holder: string): Promise<readonly number[]> {
  return source.read(async ({ sql }) => {
    const rows = await sql<{ destination_id: number }[]>`
      select destination_id from destination
      where deleted_at = 0 and active and position < (select size from log_head)
        and next_try_at <= (extract(epoch from clock_timestamp()) * 1000)::bigint
        and (holder = ${holder} or lease_until < (extract(epoch from clock_timestamp()) * 1000)::bigint)
      order by destination_id`
    return rows.map(row => row.destination_id)
  })
}

/** Takes or renews the lease under which one process at a time delivers to a destination; undefined while another has it, or nothing is due. */
export async function leaseDestination(
  sink: Sink,
  id: number,
  holder: string,
  leaseMs: number,
): Promise<DestinationRow | undefined> {
  const isFree = fragment`(${destination.holder} = ${holder} or ${lease_until} < ${databaseNow})`
  const isDue = fragment`${next_try_at} <= ${databaseNow}`
  const [row] = await sink.write(({ orm }) =>
    orm
      .update(destination)
      .set({ holder, lease_until: fragment`${databaseNow} + ${leaseMs}::bigint` })
      .where(and(isThere(id), eq(destination.active, true), isFree, isDue))
      .returning(),
  )
  return row
}

/** How a page of deliveries ended. */
type DeliveryStep = {
  /** Where it began. */
  readonly from: number
  /** Everything before it is delivered. */
  readonly position: number
  /** Positions from there on that are delivered too. */
  readonly taken: readonly number[]
  /** When an event was taken last, in milliseconds since the epoch; undefined: none was. */
  readonly delivered_at: number | undefined
  /** The first event that was not taken; undefined: all were. */
  readonly failure:
    | {
        readonly fault: DeliveryFault
        /** HTTP status; 0 = none. */
        readonly status: number
        /** Until the next attempt, in milliseconds. */
        readonly wait_ms: number
        /** Milliseconds since the epoch. */
        readonly at: number
      }
    | undefined
}

/**
 * Moves the cursor past what was delivered, and notes a failure. Only the holder of the lease moves it, and only from where it was.
 * @returns whether it did
 */
export async function noteDelivery(sink: Sink, id: number, holder: string, step: DeliveryStep): Promise<boolean> {
  const { from, delivered_at, failure } = step
  const taken = { taken: step.taken.join(" "), ...(delivered_at === undefined ? {} : { delivered_at }) }
  const wasMoved = step.position > from
  const since = destination.failing_since
  const outcome =
    failure === undefined
      ? { failures: 0, fault: "" as const, fault_status: 0, failing_since: 0, next_try_at: 0 }
      : {
          failures: wasMoved ? 1 : fragment`${destination.failures} + 1`,
          fault: failure.fault,
          fault_status: failure.status,
          failing_since: wasMoved
            ? failure.at
            : fragment`case when ${since} = 0 then ${failure.at}::bigint else ${since} end`,
          next_try_at: fragment`${databaseNow} + ${failure.wait_ms}::bigint`,
        }
  const { count } = await sink.write(({ orm }) =>
    orm
      .update(destination)
      .set({ position: step.position, ...taken, ...outcome })
      .where(and(isThere(id), eq(destination.holder, holder), eq(position, from))),
  )
  return count === 1
}

/** Gives the lease back, so that another process need not wait for its end. */
export async function endDestinationLease(sink: Sink, id: number, holder: string): Promise<void> {
  const held = and(eq(destination_id, id), eq(destination.holder, holder))
  await sink.write(({ orm }) => orm.update(destination).set({ lease_until: 0 }).where(held))
}
