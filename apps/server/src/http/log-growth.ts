/**
 * Requests that wait until the log has grown: everything that is sealed makes it grow, in whatever process. While some wait, one read of the
 * head for all of them is made a few times a second; while none does, nothing is read.
 */
import type { Database } from "../store/driver/database.ts"
import { withoutWaitLimit } from "../store/driver/wait-limit.ts"
import { readHead } from "../store/tables/log-store.ts"

/** Between two reads of the head. */
const LOOK_MS = 400
/** Requests that wait at one time; one more ends the oldest wait. */
export const WAITS_MAX = 256

type Wait = { readonly after: number; readonly end: () => void }

export type LogGrowth = {
  /**
   * Resolves when the log has more entries than `after`, when the time is up, or when it may wait no longer. Never rejects.
   * @param whose one wait each: a further one ends the one before
   */
  readonly wait: (whose: string, after: number, ms: number, signal: AbortSignal) => Promise<void>
  /** Ends all waits; later ones are over at once. */
  readonly end: () => void
}

export function openLogGrowth(db: Database): LogGrowth {
  const waits = new Map<string, Wait>()
  let looking: NodeJS.Timeout | undefined
  let ended = false

  const endWhere = (isOver: (wait: Wait) => boolean): void => {
    for (const wait of [...waits.values()].filter(isOver)) wait.end()
  }
  const look = async (): Promise<void> => {
    // Where the head cannot be read, the answers say why.
    const size = await readHead(db).then(
      head => head.size,
      () => Number.MAX_SAFE_INTEGER,
    )
    endWhere(({ after }) => size > after)
    looking = waits.size === 0 ? undefined : setTimeout(() => void look(), LOOK_MS)
  }
  return {
    wait: (whose, after, ms, signal) =>
      new Promise(resolve => {
        waits.get(whose)?.end()
        if (ended || signal.aborted) return resolve()
        const end = (): void => {
          clearTimeout(timer)
          signal.removeEventListener("abort", end)
          if (waits.get(whose) === wait) waits.delete(whose)
          resolve()
        }
        const wait: Wait = { after, end }
        const timer = setTimeout(end, ms)
        signal.addEventListener("abort", end)
        const [oldest] = waits.size >= WAITS_MAX ? waits.values() : []
        oldest?.end()
        waits.set(whose, wait)
        looking ??= withoutWaitLimit(() => setTimeout(() => void look(), LOOK_MS))
      }),
    end: () => {
      ended = true
      endWhere(() => true)
      clearTimeout(looking)
    },
  }
}
