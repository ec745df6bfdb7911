/** Delivers a page of events, so that those of each tenant come in their order. */
import type { SealedEvent } from "@runseal/core/wire/event-messages"
import type { Failure } from "./receiver-failure.ts"
import type { EventPage } from "./receivers.ts"

/** Tenants whose events are sent at one time. */
const MAX_TENANTS_AT_ONCE = 8

/** Sends one event. Undefined: the receiver took it. */
export type SendEvent = (event: SealedEvent) => Promise<Failure | undefined>

export type PageResult = {
  /** Events that the receiver took. */
  readonly taken: number
  /** Position of the first event that it did not take; undefined: it took all. */
  readonly stopped_at: number | undefined
  /** Why not; undefined also when the time was over. */
  readonly failure: Failure | undefined
}

/** Sends events as one. Undefined: the receiver took them all; otherwise none of them counts as taken. */
export type SendEvents = (events: readonly SealedEvent[]) => Promise<Failure | undefined>

/** The whole page in the order of the log, at once. */
export async function deliverTogether({ events }: EventPage, send: SendEvents): Promise<PageResult> {
  const [first] = events
  const failure = first === undefined ? undefined : await send(events)
  return failure === undefined
    ? { taken: events.length, stopped_at: undefined, failure }
    : { taken: 0, stopped_at: first?.position, failure }
}

/** Event by event: those of one tenant one after the other, those of several tenants at the same time. After a failure the others of that tenant wait. */
export async function deliverPage({ events, taken, isOver }: EventPage, send: SendEvent): Promise<PageResult> {
  const before = taken.size
  const failures = new Map<number, Failure>()
  const queues = byTenant(events)
  const deliverQueue = async (queue: readonly SealedEvent[]): Promise<void> => {
    for (const event of queue) {
      if (taken.has(event.position)) continue
      if (isOver()) return
      const failure = await send(event)
      if (failure !== undefined) {
        failures.set(event.position, failure)
        return
      }
      taken.add(event.position)
    }
  }
  const next = queues[Symbol.iterator]()
  const work = async (): Promise<void> => {
    for (const queue of next) await deliverQueue(queue)
  }
  await Promise.all(Array.from({ length: MAX_TENANTS_AT_ONCE }, work))
  const stopped_at = events.find(({ position }) => !taken.has(position))?.position
  const failure = stopped_at === undefined ? undefined : (failures.get(stopped_at) ?? [...failures.values()][0])
  return { taken: taken.size - before, stopped_at, failure }
}

function byTenant(events: readonly SealedEvent[]): readonly (readonly SealedEvent[])[] {
  const queues = new Map<string, SealedEvent[]>()
  for (const event of events) {
    const queue = queues.get(event.data.tenant_id)
    if (queue === undefined) queues.set(event.data.tenant_id, [event])
    else queue.push(event)
  }
  return [...queues.values()]
}
