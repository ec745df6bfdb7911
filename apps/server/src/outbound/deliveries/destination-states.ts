/** How far each delivery is, for operators and metrics. */
import type { Delivery } from "@runseal/core/wire/delivery-messages"
import type { Source } from "../../store/driver/session.ts"
import { type DestinationRow, listDestinations } from "../../store/tables/destinations-table.ts"
import { readStreamHead, type StreamHead } from "../../store/tables/stream-reads.ts"

export type DeliveryState = { readonly log_size: number; readonly deliveries: readonly Delivery[] }

/** Every destination that is not deleted, oldest first. @param nowMs milliseconds since the epoch */
export async function readDeliveryState(source: Source, nowMs: number): Promise<DeliveryState> {
  const rows = await listDestinations(source)
  const head = await readStreamHead(
    source,
    rows.map(({ position }) => position),
  )
  return { log_size: head.size, deliveries: rows.map(row => deliveryOf(row, head, nowMs)) }
}

export const readDeliveries = async (source: Source, nowMs: number): Promise<readonly Delivery[]> =>
  (await readDeliveryState(source, nowMs)).deliveries

const clock = (ms: number): string => new Date(ms).toISOString()

function deliveryOf(row: DestinationRow, { size, times }: StreamHead, nowMs: number): Delivery {
  const { fault, fault_status, position } = row
  const since = times.get(position)
  return {
    id: row.destination_id,
    name: row.name,
    kind: row.kind,
    active: row.active,
    position,
    backlog: Math.max(0, size - position),
    lag_seconds: since === undefined ? 0 : Math.max(0, Math.floor(nowMs / 1000) - since),
    ...(row.delivered_at === 0 ? {} : { delivered_at: clock(row.delivered_at) }),
    ...(fault === ""
      ? {}
      : {
          last_error: { fault, ...(fault_status === 0 ? {} : { status: fault_status }) },
          failing_since: clock(row.failing_since),
          failures: row.failures,
          next_try_at: clock(row.next_try_at),
        }),
  }
}
