/** Several servers of PostgreSQL, one of which takes writes: which one it is, and when to search again. */
import { driverCode, noPrimary } from "./store-errors.ts"

export type HostChoice<Host> = {
  /** The host that takes writes. Calls at a time share one search. Rejects with the error of a host, or `NO_PRIMARY`. */
  readonly current: () => Promise<Host>
  /** A connection to it is gone: the next call searches again. */
  readonly doubt: () => void
}

/** After a search without success calls are refused for so long, in milliseconds: each search connects to every host. */
const RETRY_AFTER_MS = 250

/** @param takesWrites connects to a host within a time of its own. Rejects when it is out of reach or refuses */
export function createHostChoice<Host>(
  hosts: readonly Host[],
  takesWrites: (host: Host) => Promise<boolean>,
): HostChoice<Host> {
  let choice: Promise<Host> | undefined
  let isFound = false

  const ask = async (host: Host): Promise<Host> => {
    if (!(await takesWrites(host))) throw noPrimary()
    return host
  }
  const search = async (): Promise<Host> => {
    try {
      const host = await Promise.any(hosts.map(ask))
      isFound = true
      return host
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
    doubt: () => {
      // Neither a search under way nor one that failed a moment ago is repeated.
      if (isFound) choice = undefined
      isFound = false
    },
  }
}

/** A host that answered says more than one that is out of reach. */
const tellingError = (errors: readonly unknown[]): unknown =>
  errors.find(error => /^(?:NO_PRIMARY|[0-9A-Z]{5})$/.test(driverCode(error) ?? "")) ?? errors[0]
