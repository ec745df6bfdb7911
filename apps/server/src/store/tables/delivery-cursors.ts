/** How far each delivery is, and which process delivers: the lease and the cursor of a destination. Decision 0190. */
import type { DeliveryFault } from "@runseal/core/wire/delivery-messages"
import { and, eq, sql as fragment } from "drizzle-orm"
import type { Sink, Source } from "../driver/session.ts"
import { type DestinationRow, destination, isThere } from "./destinations-table.ts"

/** Milliseconds of the database's clock. */
const databaseNow = fragment`(extract(epoch from clock_timestamp()) * 1000)::bigint`

const { destination_id, position, lease_until, next_try_at } = destination

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
export type DeliveryStep = {
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
