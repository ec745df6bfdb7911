/**
 * Delivers events to every destination. Every process does so: a lease in the database lets one at a time deliver to a destination. A
 * destination that fails waits by itself, and neither sealing nor another destination waits for it. Decision 0190.
 */
import { randomUUID } from "node:crypto"
import { setTimeout } from "node:timers/promises"
import type { Destination } from "@runseal/core/wire/event-messages"
import type { DeliveryNetworks } from "../../options/delivery-networks.ts"
import type { Database } from "../../store/driver/database.ts"
import { findDueDestinations } from "../../store/tables/delivery-cursors.ts"
import type { DestinationRow } from "../../store/tables/destinations-table.ts"
import type { Telemetry } from "../../telemetry.ts"
import { playDelivery, type RoundContext } from "./delivery-round.ts"
import { addressProblem } from "./receiver-address.ts"
import type { Failure } from "./receiver-failure.ts"
import { openReceivers, type ReceiverParts } from "./receivers.ts"

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
