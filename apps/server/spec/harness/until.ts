/** The one way a test waits: it polls, with a deadline that no working service needs, and reports what it waited for. */
import { setTimeout as sleep } from "node:timers/promises"

/** Some fifty times what the slowest condition takes on a machine that does nothing else. */
const DEADLINE_MS = 90_000
const POLL_MS = 20

type Awaitable<T> = T | Promise<T>

/**
 * Polls until there is something, and returns it.
 *
 * @param what what is waited for, as a clause: "the log takes an entry"
 * @param look gives undefined or false for "not yet"; what it throws ends the wait
 * @throws Error that names `what`, once the deadline (milliseconds) has passed
 */
export async function until<T>(
  what: string,
  look: () => Awaitable<T | undefined | false>,
  deadlineMs: number = DEADLINE_MS,
): Promise<T> {
  const end = performance.now() + deadlineMs
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > end) throw new Error(`waited ${deadlineMs} ms in vain until ${what}`)
    await sleep(POLL_MS)
  }
}
