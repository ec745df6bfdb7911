/** The quota of trial keys: so many runs in a rolling period. docs/api.md, "Limits". */
import { randomUUID } from "node:crypto"
import { HttpError } from "../../http-error.ts"
import type { Database } from "../../store/driver/database.ts"
import { createGroupCommit, type Upstream } from "../../store/driver/group-commit.ts"
import { StoreError } from "../../store/driver/store-errors.ts"
import {
  type AdmissionResult,
  type AskedAdmission,
  admitTrialRuns,
  sweepTrialAdmissions,
  type TrialCap,
  withdrawAdmissions,
} from "../../store/tables/trial-admissions.ts"
import type { KeyCaller } from "./caller.ts"
import { createHousekeeping } from "./housekeeping.ts"

const DAY_MS = 86_400_000
export const TRIAL_CAP: TrialCap = { runs: 5000, period_ms: 30 * DAY_MS }

/** Runs that one transaction admits or refunds. */
const MAX_PER_BATCH = 256
/** Runs that may wait in the queue to be admitted or refunded; one more is answered 503 at once. */
const MAX_WAITING = 4096
/** Refunds held in memory for a retry after they failed; any further one is lost, and its run stays counted. */
const MAX_FAILED_REFUNDS = 4096
const SWEEP_EVERY_MS = 10_000
/** More than a key is admitted in a period: one step removes all that a key has. */
const SWEEP_MAX_ROWS = 6000

export type TrialQuota = Upstream & {
  /**
   * Calls `run` and counts it for the caller's quota. Refused and halted runs count, and those that fail in a stage: they have
   * a record. A refused request, or a failure that left no record, is refunded.
   * @throws HttpError 429 when a trial key's quota is used up, and then `run` was not called; otherwise what `run` rejects with
   */
  readonly spend: <T>(caller: KeyCaller, run: () => Promise<T>) => Promise<T>
  readonly close: () => Promise<void>
}

/** @param reportRefused called for each run that is refused */
export function openTrialQuota(db: Database, nowMs: () => number, reportRefused: () => void): TrialQuota {
  const bounds = { batch: MAX_PER_BATCH, waiting: MAX_WAITING }
  const sweeping = createHousekeeping(sweeper(db), SWEEP_EVERY_MS)
  const refunds = openRefunds(db)
  const admissions = createGroupCommit<AskedAdmission, AdmissionResult>(async asked => {
    await refunds.retry()
    const at = nowMs()
    const results = await admitTrialRuns(db, asked, at, TRIAL_CAP)
    sweeping.due(at)
    return results
  }, bounds)
  return {
    spend: async (caller, run) => {
      if (!isLimited(caller)) return run()
      const admission_id = randomUUID()
      const result = await admissions.submit({ admission_id, key_id: caller.api_key_id })
      if (!result.admitted) {
        reportRefused()
        throw quotaExceeded(result.free_at - nowMs())
      }
      return run().catch(async (error: unknown) => {
        if (leftNoRecord(error)) await refunds.refund(admission_id)
        throw error
      })
    },
    underWay: admissions.underWay,
    close: async () => {
      await admissions.close()
      await refunds.close()
      await sweeping.close()
    },
  }
}

/** The scope does not matter: an admin key that was made with the tier `trial` has the quota too. */
const isLimited = ({ tier }: KeyCaller): boolean => tier === "trial"

function quotaExceeded(wait_ms: number): HttpError {
  const seconds = Math.max(1, Math.ceil(wait_ms / 1000))
  const days = TRIAL_CAP.period_ms / DAY_MS
  const sentence = `trial_quota_exceeded: a trial key is admitted to ${TRIAL_CAP.runs} runs in ${days} days.`
  return new HttpError("trial_quota_exceeded", sentence, { "Retry-After": `${seconds}` })
}

/** Where it is not known whether there is a record, the run stays counted. */
const leftNoRecord = (error: unknown): boolean =>
  error instanceof HttpError || (error instanceof StoreError && error.code !== "outcome_unknown")

/** Refunds admissions. A refund that fails is retried before the next run is admitted. */
function openRefunds(db: Database) {
  const failed = new Set<string>()
  const { submit, close } = createGroupCommit<string, true>(
    async ids => {
      await withdrawAdmissions(db, ids)
      return ids.map(() => true)
    },
    { batch: MAX_PER_BATCH, waiting: MAX_WAITING },
  )
  return {
    refund: async (id: string): Promise<void> => {
      await submit(id).catch(() => {
        if (failed.size < MAX_FAILED_REFUNDS) failed.add(id)
      })
    },
    retry: async (): Promise<void> => {
      const ids = [...failed]
      if (ids.length === 0) return
      await withdrawAdmissions(db, ids)
      for (const id of ids) failed.delete(id)
    },
    close,
  }
}

/** Each step goes on with the key after the last one, and starts again with the first. */
function sweeper(db: Database): (nowMs: number) => Promise<void> {
  let last = 0
  return async nowMs => {
    last = await sweepTrialAdmissions(db, last, nowMs - TRIAL_CAP.period_ms, SWEEP_MAX_ROWS)
  }
}
