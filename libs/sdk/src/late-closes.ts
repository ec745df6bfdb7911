/** Closes that got no answer. They are sent again in the background, in their order, until the service answers them. */
import { meansAway } from "./breaker.ts"
import { HttpStatusError } from "./client-errors.ts"
import type { Call } from "./exchange.ts"
import { readExecuteResult } from "./execute-result.ts"
import { whileIdle } from "./platform.ts"
import { isTransient } from "./retry.ts"
import type { Send } from "./transport.ts"

/** Most closes that wait, and most characters of their bodies. What has no room is not sent again: the service ends its permit. */
const CLOSES_MAX = 1_000
const CHARACTERS_MAX = 16_777_216
/** Milliseconds between two rounds, and for one close of them. */
const EVERY_MS = 5_000
const CLOSE_MS = 10_000

/** Whether a close that got this may be taken later. */
export const isLate = (error: unknown): boolean =>
  meansAway(error) || (error instanceof HttpStatusError && (isTransient(error) || error.status >= 500))

/** Takes a close under its idempotency key. A process that ends before the service is back sends nothing more. */
export type LateCloses = (call: Call) => void

export function lateCloses(send: Send): LateCloses {
  const waiting = new Set<Call>()
  let characters = 0
  let isTimed = false
  const sizeOf = ({ body = "" }: Call): number => body.length
  const sendAll = async (): Promise<void> => {
    isTimed = false
    for (const call of waiting) {
      const failure = await send(call, readExecuteResult, { timeoutMs: CLOSE_MS, deadlineMs: CLOSE_MS }).catch(
        (error: unknown) => error,
      )
      if (isLate(failure)) return wait()
      // Sealed, or refused for ever, as one that comes too late.
      waiting.delete(call)
      characters -= sizeOf(call)
    }
  }
  const wait = (): void => {
    if (isTimed) return
    isTimed = true
    whileIdle(EVERY_MS, () => void sendAll())
  }
  return call => {
    if (waiting.size >= CLOSES_MAX || characters + sizeOf(call) > CHARACTERS_MAX) return
    waiting.add(call)
    characters += sizeOf(call)
    wait()
  }
}
