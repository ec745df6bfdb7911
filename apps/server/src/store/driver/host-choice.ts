/** Several servers of PostgreSQL, one of which takes writes: which one it is, and when to search again. */
import { setTimeout as sleep } from "node:timers/promises"
import { driverCode, noPrimary } from "./store-errors.ts"

export type HostChoice<Host> = {
  /** The host that takes writes, of several that do the one that was promoted last. Calls at a time share one search. Rejects with the error of a host, or `NO_PRIMARY`. */
  readonly current: () => Promise<Host>
  /** A connection to a host is gone: if that is the current one, the next call searches again. */
  readonly doubt: (host: Host) => void
}

/** After a search without success calls are refused for so long, in milliseconds: each search connects to every host. */
const RETRY_AFTER_MS = 250

/**
 * How long a search waits for further hosts once one takes writes, in milliseconds. An old primary may live on that has no right to
 * be one, because what supervises it was suspended: its commits wait for ever, and choosing it again would end nothing.
 */
const OTHERS_WITHIN_MS = 500

/**
 * @param timelineOf connects to a host within a time of its own. Gives the timeline of its write-ahead log, which every promotion raises, or
 * undefined when it takes no writes. Rejects when it is out of reach or refuses
 */
export function createHostChoice<Host>(
  hosts: readonly Host[],
  timelineOf: (host: Host) => Promise<number | undefined>,
): HostChoice<Host> {
  let choice: Promise<Host> | undefined
  let current: Host | undefined

  const search = async (): Promise<Host> => {
    const found: { readonly host: Host; readonly timeline: number }[] = []
    const asking = hosts.map(async host => {
      const timeline = await timelineOf(host)
      if (timeline === undefined) throw noPrimary()
      found.push({ host, timeline })
    })
    try {
      await Promise.any(asking)
      await Promise.race([Promise.allSettled(asking), sleep(OTHERS_WITHIN_MS, undefined, { ref: false })])
      const newest = found.reduce((best, one) => (one.timeline > best.timeline ? one : best))
      current = newest.host
      return current
    } catch (error) {
      setTimeout(() => {
        choice = undefined
      }, RETRY_AFTER_MS).unref()
      throw error instanceof AggregateError ? tellingError(error.errors) : error
    }
  }
  return {
    current: () => {
      choice ??= search()
      return choice
    },
    doubt: host => {
      // Neither a search under way nor one that failed a moment ago is repeated.
      if (host !== current) return
      choice = undefined
      current = undefined
    },
  }
}

/** A host that answered says more than one that is out of reach. */
const tellingError = (errors: readonly unknown[]): unknown =>
  errors.find(error => /^(?:NO_PRIMARY|[0-9A-Z]{5})$/.test(driverCode(error) ?? "")) ?? errors[0]
