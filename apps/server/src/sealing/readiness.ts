/**
 * Whether a run could be sealed now: the database answers and takes writes, the head can be remembered beside the keys, the
 * sealer accepts the log's time, the signer answers, and the last batch was acknowledged. After a failure a trial write decides, so that an old
 * failure does not count for ever. Decision 0113.
 * However many callers there are, the database is probed at most once a second, and by one probe at a time.
 */

import { utf8Encode } from "@runseal/canonical"
import type { Heads } from "../heads/heads.ts"
import type { EcdsaKey } from "../keys/ecdsa-keys.ts"
import type { Database } from "../store/driver/database.ts"
import { readHead, takesWrites } from "../store/tables/log-store.ts"
import type { Readiness, Telemetry } from "../telemetry.ts"
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

// A cached probe: many may call it, one probe runs at a time, each call is answered in time.

type Probe<T> = {
  /** The probe itself. It may take as long as it does; no other is started meanwhile. Must not reject. */
  readonly ask: () => Promise<T>
  /** The answer when the probe takes longer than `deadlineMs`. */
  readonly late: () => T
  readonly deadlineMs: number
  /** How long an answer is cached, in milliseconds. */
  readonly cacheMs: number
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
}

/** The function that gives the cached answer, or a fresh one. */
export function boundedFinding<T>({ ask, late, deadlineMs, cacheMs, nowMs }: Probe<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined
  let cached: { readonly promise: Promise<T>; readonly at: number } | undefined
  const find = (): Promise<T> => {
    // While a probe is stuck, later calls wait for the same one.
    underWay ??= ask().finally(() => {
      underWay = undefined
    })
    return withinDeadline(underWay, deadlineMs, late)
  }
  return () => {
    const now = nowMs()
    const isFresh = cached !== undefined && now >= cached.at && now - cached.at < cacheMs
    if (cached === undefined || !isFresh) cached = { promise: find(), at: now }
    return cached.promise
  }
}

async function withinDeadline<T>(work: Promise<T>, deadlineMs: number, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<T>(resolve => {
    timer = setTimeout(() => resolve(late()), deadlineMs)
  })
  return Promise.race([work, deadline]).finally(() => clearTimeout(timer))
}

// Whether a remote service key signs now: without its signatures nothing can be sealed. The probe is a signature, since that is the
// permission that counts: a role that may sign need not be allowed to read the public key. Decision 0113.

/** How long a result is cached, in milliseconds: each probe costs a signature. */
export const SIGNER_CACHE_MS = 5000

/** Neither a leaf, which is a JSON text, nor a DSSE encoding: its signature attests nothing, and it is not stored. */
export const PROBE = utf8Encode("runseal: signed to see that the signer signs")

type SignerParts = {
  readonly key: EcdsaKey
  readonly nowMs: () => number
  readonly telemetry: Pick<Telemetry, "signerChanged">
}

/** A batch that waits for the signer holds the log's head, and the one connection of the embedded database: so the signer is named, not them. */
const WHILE_SIGNING: ReadonlySet<string> = new Set([REASONS.silent, REASONS.absent, REASONS.locked])

/** The readiness that also probes the signer of the service key, where there is one. Never rejects. */
export function readyWithSigner(
  readiness: () => Promise<Readiness>,
  { key, nowMs, telemetry }: SignerParts,
): () => Promise<Readiness> {
  if (!key.isElsewhere) return readiness
  let signs = true
  const note = (now: boolean, cause?: unknown): void => {
    if (now !== signs) telemetry.signerChanged(now, cause)
    signs = now
  }
  const problem = boundedFinding<string | undefined>({
    ask: async () => {
      try {
        await key.signAll([PROBE])
        note(true)
        return undefined
      } catch (error) {
        note(false, error)
        return "The signer of the service key gives no signature."
      }
    },
    late: () => "The signer of the service key does not answer.",
    deadlineMs: READINESS_DEADLINE_MS,
    cacheMs: SIGNER_CACHE_MS,
    nowMs,
  })
  return async () => {
    const [found, reason] = await Promise.all([readiness(), problem()])
    const isOther = !found.ready && !WHILE_SIGNING.has(found.reason)
    return reason === undefined || isOther ? found : { ready: false, reason, checked_at: found.checked_at }
  }
}
