/** Delivers a page of events: those of one tenant one after the other, those of several tenants at the same time. */
import type { SealedEvent } from "@runseal/core/wire/event-messages"
import type { Failure } from "./receiver-failure.ts"

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

/**
 * After a failure the other events of that tenant wait.
 * @param taken positions from here on that the receiver has taken before, which are not sent again; those taken now are added
 * @param isOver whether no further event may be sent
 */
export async function deliverPage(
  events: readonly SealedEvent[],
  taken: Set<number>,
  send: SendEvent,
  isOver: () => boolean,
): Promise<PageResult> {
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
