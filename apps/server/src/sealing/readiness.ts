/**
 * Whether a run could be sealed now: the database answers and takes writes, the head can be remembered beside the keys, the
 * sealer accepts the log's time, and the last batch was acknowledged. After a failure a trial write decides, so that an old
 * failure does not count for ever. Decision 0113.
 * However many callers there are, the database is probed at most once a second, and by one probe at a time.
 */
import type { Heads } from "../heads/heads.ts"
import type { Database } from "../store/driver/database.ts"
import { readHead, takesWrites } from "../store/tables/log-store.ts"
import type { Readiness, Telemetry } from "../telemetry.ts"
import { boundedFinding } from "./bounded-finding.ts"
import type { LogClock } from "./log-clock.ts"
import { REASONS, waitOfOthers, whyNotSealed } from "./trial-write.ts"

/** How long a result is cached, in milliseconds. */
export const READINESS_CACHE_MS = 1000
/** Timeout of the database, in milliseconds; then it counts as stuck. */
export const READINESS_DEADLINE_MS = 2000

/** Whether sealing has to be tried before it is called ready: after the start, and after a request that the record store failed. */
export type TrialDue = {
  readonly raise: () => void
  /** How often it was raised. */
  readonly times: () => number
  /** Ends what was raised so far, or by the first so many calls. */
  readonly settle: (times?: number) => void
  readonly isOpen: () => boolean
}

export function createTrialDue(): TrialDue {
  let raised = 1
  let settled = 0
  return {
    raise: () => void raised++,
    times: () => raised,
    settle: (times = raised) => {
      settled = Math.max(settled, times)
    },
    isOpen: () => raised > settled,
  }
}

type ReadinessParts = {
  readonly db: Database
  readonly nowMs: () => number
  readonly clock: Pick<LogClock, "trouble">
  /** The head remembered beside the keys. */
  readonly heads: Pick<Heads, "writable" | "readyToRemember" | "poll" | "trouble">
  readonly trialDue: TrialDue
  readonly telemetry: Pick<Telemetry, "readyChanged">
  /** The head's epoch when this process started. */
  readonly epoch: number
  readonly deadlineMs?: number
}

/** The function that gives the readiness. It never rejects. */
export function createReadiness(parts: ReadinessParts): () => Promise<Readiness> {
  const { nowMs, deadlineMs = READINESS_DEADLINE_MS } = parts
  let trying: string = REASONS.silent
  const finding = boundedFinding<Readiness>({
    ask: async (): Promise<Readiness> => {
      trying = REASONS.silent
      await parts.heads.poll().catch(() => undefined)
      const found = await readState(parts).catch(() => undefined)
      const checked_at = nowMs()
      const met = found === undefined ? REASONS.absent : reasonAgainst(found, parts)
      const reason = met ?? (await whyTrialFails(parts, what => (trying = what)))
      return found !== undefined && reason === undefined
        ? { ready: true, log_size: found.head.size, checked_at }
        : { ready: false, reason: reason ?? REASONS.absent, checked_at }
    },
    late: () => ({ ready: false, reason: trying, checked_at: nowMs() }),
    deadlineMs,
    cacheMs: READINESS_CACHE_MS,
    nowMs,
  })
  return reporting(finding, parts.telemetry)
}

/** All of it on one connection. */
const readState = ({ db, clock }: Pick<ReadinessParts, "db" | "clock">) =>
  db.quick.read(async session => {
    const head = await readHead(session)
    return {
      head,
      writable: await takesWrites(session),
      clockTrouble: await clock.trouble(session, head),
      met: db.kind === "postgres" ? await waitOfOthers(session) : undefined,
    }
  })

function reasonAgainst(
  { head, writable, clockTrouble, met }: Awaited<ReturnType<typeof readState>>,
  { heads, epoch }: ReadinessParts,
): string | undefined {
  if (!writable) return REASONS.readOnly
  const trouble = heads.trouble()
  if (trouble !== undefined) return trouble
  if (head.epoch !== epoch) return "The signing keys were changed since this process started: start it again."
  if (!heads.writable()) return REASONS.heads
  return clockTrouble ?? met
}

/** @returns undefined when there is no trial is due, or it succeeded */
async function whyTrialFails(
  { db, heads, trialDue }: ReadinessParts,
  trying: (reason: string) => void,
): Promise<string | undefined> {
  if (!trialDue.isOpen()) return undefined
  const times = trialDue.times()
  const reason = await whyNotSealed({ db, heads, trying })
  if (reason === undefined) trialDue.settle(times)
  return reason
}

/** Reports when a finding differs from the last one. */
function reporting(
  finding: () => Promise<Readiness>,
  telemetry: ReadinessParts["telemetry"],
): () => Promise<Readiness> {
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
