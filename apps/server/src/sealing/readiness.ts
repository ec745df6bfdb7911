/**
 * Whether a run could be sealed now: the database answers and takes writes, the head can be remembered beside the keys, the
 * log's clock is one that the sealer takes, and whatever was sealed last was acknowledged. While that is in doubt it is tried,
 * so that a finding of the past does not stand for ever. Decision 0113.
 * Asked of the database at most once a second and never twice at the same time, however many ask here.
 */
import type { Database } from "../store/driver/database.ts"
import { readHead, takesWrites } from "../store/tables/log-store.ts"
import type { Readiness, Telemetry } from "../telemetry.ts"
import { boundedFinding } from "./bounded-finding.ts"
import type { HeadGuard } from "./head-guard.ts"
import { nextLogTime } from "./log-clock.ts"
import { metByOthers, REASONS, whyNotSealed } from "./trial-write.ts"

/** How long a finding stands, in milliseconds. */
export const READINESS_STANDS_MS = 1000
/** Longest the database may take, in milliseconds; then it counts as stuck. */
export const READINESS_DEADLINE_MS = 2000

/** Whether it is in doubt that anything can be sealed: after the start, and since a request failed for the record store's sake. */
export type Doubt = {
  readonly raise: () => void
  /** How often it was raised. */
  readonly times: () => number
  /** Ends what was raised so far, or up to so many times. */
  readonly settle: (times?: number) => void
  readonly stands: () => boolean
}

export function openDoubt(): Doubt {
  let raised = 1
  let settled = 0
  return {
    raise: () => void raised++,
    times: () => raised,
    settle: (times = raised) => {
      settled = Math.max(settled, times)
    },
    stands: () => raised > settled,
  }
}

type ReadinessParts = {
  readonly db: Database
  readonly nowMs: () => number
  /** What is remembered beside the keys. */
  readonly heads: Pick<HeadGuard, "writable" | "contradicts" | "readyToRemember" | "look" | "trouble">
  readonly doubt: Doubt
  readonly telemetry: Pick<Telemetry, "readyChanged">
  /** The head's epoch when this process started. */
  readonly epoch: number
  readonly deadlineMs?: number
}

/** The function that finds it. It never rejects. */
export function openReadiness(parts: ReadinessParts): () => Promise<Readiness> {
  const { nowMs, deadlineMs = READINESS_DEADLINE_MS } = parts
  let trying: string = REASONS.silent
  const finding = boundedFinding<Readiness>({
    ask: async (): Promise<Readiness> => {
      trying = REASONS.silent
      await parts.heads.look().catch(() => undefined)
      const found = await lookAt(parts.db).catch(() => undefined)
      const checked_at = nowMs()
      const met = found === undefined ? REASONS.absent : reasonAgainst(found, parts, checked_at)
      const reason = met ?? (await whyInDoubt(parts, what => (trying = what)))
      return found !== undefined && reason === undefined
        ? { ready: true, log_size: found.head.size, checked_at }
        : { ready: false, reason: reason ?? REASONS.absent, checked_at }
    },
    late: () => ({ ready: false, reason: trying, checked_at: nowMs() }),
    deadlineMs,
    standsMs: READINESS_STANDS_MS,
    nowMs,
  })
  return telling(finding, parts.telemetry)
}

/** On one connection. */
const lookAt = (db: Database) =>
  db.quick.read(async session => ({
    head: await readHead(session),
    writable: await takesWrites(session),
    met: db.kind === "postgres" ? await metByOthers(session) : undefined,
  }))

function reasonAgainst(
  { head, writable, met }: Awaited<ReturnType<typeof lookAt>>,
  { heads, epoch }: ReadinessParts,
  now: number,
): string | undefined {
  if (!writable) return REASONS.readOnly
  if (heads.contradicts(head.size, head.root))
    return "The database holds an older log than was acknowledged, or another."
  const trouble = heads.trouble()
  if (trouble !== undefined) return trouble
  if (head.epoch !== epoch) return "The signing keys were changed since this process started: start it again."
  if (!heads.writable()) return REASONS.heads
  if (nextLogTime(head.log_time, now) === undefined)
    return "The clock is behind the log's time; nothing is sealed until it has caught up."
  return met
}

/** @returns undefined when there is no doubt, or no more */
async function whyInDoubt(
  { db, heads, doubt }: ReadinessParts,
  trying: (reason: string) => void,
): Promise<string | undefined> {
  if (!doubt.stands()) return undefined
  const times = doubt.times()
  const reason = await whyNotSealed({ db, heads, trying })
  if (reason === undefined) doubt.settle(times)
  return reason
}

/** Reports when a finding differs from the last one. */
function telling(finding: () => Promise<Readiness>, telemetry: ReadinessParts["telemetry"]): () => Promise<Readiness> {
  let last: string | undefined
  return async () => {
    const found = await finding()
    const reason = found.ready ? undefined : found.reason
    if (reason !== last) {
      last = reason
      telemetry.readyChanged(reason)
    }
    return found
  }
}
