/**
 * Delivers events to every destination. Every process does so: a lease in the database lets one at a time deliver to a destination. A
 * destination that fails waits by itself, and neither sealing nor another destination waits for it. Decision 0190.
 */
import { randomUUID } from "node:crypto"
import { setTimeout } from "node:timers/promises"
import type { LoggedEvent } from "@runseal/core/event-forms/sent-event"
import type { Destination } from "@runseal/core/wire/event-messages"
import { eventsOf, filterValues, passes } from "../../events/sealed-event.ts"
import { followed } from "../../followed-steps.ts"
import type { DeliveryNetworks } from "../../options/delivery-networks.ts"
import type { Database } from "../../store/driver/database.ts"
import {
  type DestinationRow,
  endDestinationLease,
  findDueDestinations,
  leaseDestination,
  noteDelivery,
} from "../../store/tables/destinations-table.ts"
import { readHead } from "../../store/tables/log-store.ts"
import { readStream } from "../../store/tables/stream-reads.ts"
import type { Telemetry } from "../../telemetry.ts"
import { addressProblem } from "./receiver-address.ts"
import { type Failure, openReceivers, REQUEST_DEADLINE_MS, type ReceiverParts, type Receivers } from "./receivers.ts"

/** Between two polls for destinations that are due, which other processes may have changed, in milliseconds. */
const POLL_MS = 2000
/** The same while the log grows. */
const BUSY_POLL_MS = 100

export type Deliveries = {
  /** The log has grown, or a destination was changed. */
  readonly wake: () => void
  /** Sends a test event, beside the queue. Undefined: the receiver took it. */
  readonly test: (destination: DestinationRow) => Promise<Failure | undefined>
  /** Why an address is not accepted; undefined for one that is. */
  readonly addressProblem: (url: string, kind: Destination["kind"]) => string | undefined
  /** Ends requests under way; their events are sent again after the next start. */
  readonly close: () => Promise<void>
}

export type DeliveriesContext = Omit<ReceiverParts, "networks"> & {
  readonly db: Database
  readonly networks: DeliveryNetworks
  readonly telemetry: RoundContext["telemetry"] & Pick<Telemetry, "deliveriesFailed">
}

export function openDeliveries(context: DeliveriesContext): Deliveries {
  const { db, networks, telemetry } = context
  const receivers = openReceivers(context)
  // The embedded database has one process at a time, so a lease found at a start is that of a process that is gone.
  const holder = db.kind === "postgres" ? randomUUID() : "this process"
  const { deliver } = receivers
  const round: RoundContext = { ...context, random: Math.random, holder, deliver, oneAtATime: createQueue() }
  const stop = new AbortController()
  const underWay = new Map<number, Promise<void>>()
  let wakeUp = new AbortController()

  const start = (id: number): void => {
    const ended = playDelivery(round, id, stop.signal)
      .catch(telemetry.deliveriesFailed)
      .finally(() => underWay.delete(id))
    underWay.set(id, ended)
  }
  const deliverUntilStopped = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      wakeUp = new AbortController()
      const due = await findDueDestinations(db, holder).catch(() => [])
      for (const id of due) if (!underWay.has(id) && !stop.signal.aborted) start(id)
      await pause(BUSY_POLL_MS, stop.signal)
      await pause(POLL_MS - BUSY_POLL_MS, AbortSignal.any([stop.signal, wakeUp.signal]))
    }
  }
  const ended = deliverUntilStopped()
  return {
    wake: () => wakeUp.abort(),
    test: destination => receivers.sendTest(destination, stop.signal),
    addressProblem: (url, kind) => addressProblem(url, kind, networks),
    close: async () => {
      stop.abort()
      await ended
      await Promise.all(underWay.values())
      receivers.close()
    },
  }
}

/** Work is done in the order in which it comes. As many pieces wait as there are destinations. */
function createQueue(): RoundContext["oneAtATime"] {
  let last: Promise<unknown> = Promise.resolve()
  return work => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}

/** Resolves after the time, or when the signal aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal }).catch(() => undefined)

// Delivers to one destination, page after page, as long as this process has the lease and nothing fails.

/** No event of a page is sent after this time, in milliseconds, of which reading it is a part … */
const PAGE_BUDGET_MS = 20_000
/** … but for so long after it was read: otherwise pages that take long to read would never be sent. */
const LEAST_SENDING_MS = 5000
/** Duration of the lease, after which another process delivers in place of one that died: longer than a page can take. */
const LEASE_MS = PAGE_BUDGET_MS + REQUEST_DEADLINE_MS + 10_000
/** Wait after a failure, in milliseconds: half of this or more, at random, doubled with each further failure in a row. */
const FIRST_WAIT_MS = 1000
/** The wait is never longer than this, in milliseconds, so that a receiver that is back soon gets its events. */
const LONGEST_WAIT_MS = 60_000

type RoundContext = {
  readonly db: Database
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Uniform in [0, 1); spreads retries. */
  readonly random: () => number
  readonly telemetry: Pick<Telemetry, "eventsDelivered" | "eventNotDelivered" | "receiverBack">
  /** The name under which this process holds leases. */
  readonly holder: string
  readonly deliver: Receivers["deliver"]
  /** Does one such piece of work at a time: one page of documents is in memory, and not one for each destination. */
  readonly oneAtATime: <Result>(work: () => Promise<Result>) => Promise<Result>
}

/** @param stop ends requests under way, whose events are sent again later */
async function playDelivery(context: RoundContext, id: number, stop: AbortSignal): Promise<void> {
  const { db, holder } = context
  try {
    while (!stop.aborted) {
      const row = await leaseDestination(db, id, holder, LEASE_MS)
      if (row === undefined) return
      if (!(await playPage(context, row, stop))) return
    }
  } finally {
    await endDestinationLease(db, id, holder).catch(() => undefined)
  }
}

/** @returns whether there may be more to do now */
async function playPage(context: RoundContext, row: DestinationRow, stop: AbortSignal): Promise<boolean> {
  const { db, holder, telemetry, nowMs } = context
  const { destination_id: id, position: from } = row
  const { size } = await readHead(db)
  if (from >= size) return false
  const leased = performance.now()
  const { events, next } = await context.oneAtATime(() => readPage(db, row, size))
  const until = Math.max(leased + PAGE_BUDGET_MS, performance.now() + LEAST_SENDING_MS)
  const taken = new Set(filterValues(row.taken).map(Number))
  const isOver = (): boolean => stop.aborted || performance.now() > until
  const deliver = { name: "deliver", facts: { destination: id, events: events.length }, apart: [] }
  const page = await followed(deliver, async note => {
    const delivered = await context.deliver(row, { events, taken, isOver }, stop)
    note({ taken: delivered.taken, ...(delivered.failure && { fault: delivered.failure.fault }) })
    return delivered
  })
  // A request that the stop has ended says nothing of the receiver.
  const failure = stop.aborted ? undefined : page.failure
  const position = page.stopped_at ?? next
  const wasNoted = await noteDelivery(db, id, holder, {
    from,
    position,
    taken: [...taken].filter(one => one >= position),
    delivered_at: page.taken === 0 ? undefined : nowMs(),
    failure: failure && { ...failure, at: nowMs(), wait_ms: waitMs(context, row, failure, position > from) },
  })
  if (page.taken > 0) telemetry.eventsDelivered(id, page.taken)
  if (failure !== undefined) {
    telemetry.eventNotDelivered(id, failure.fault, row.failures === 0 || position > from)
    return false
  }
  if (row.failures > 0 && page.taken > 0) telemetry.receiverBack(id)
  return wasNoted
}

/** The events of a page. The documents are not held any longer. */
async function readPage(
  db: Database,
  row: DestinationRow,
  size: number,
): Promise<{ readonly events: readonly LoggedEvent[]; readonly next: number }> {
  const { documents, next } = await readStream(db, row.position, size)
  return { events: eventsOf(documents).filter(event => passes(row, event)), next }
}

function waitMs(
  { random }: RoundContext,
  { failures }: DestinationRow,
  { retry_after_ms = 0 }: Failure,
  wasMoved: boolean,
): number {
  const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(wasMoved ? 0 : failures, 16))
  return Math.round(Math.max(retry_after_ms, most * (0.5 + random() / 2)))
}
