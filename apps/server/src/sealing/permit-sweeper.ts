/**
 * Ends permits that nobody closed in time, and those of revoked keys. Every process does so: the batch finds out behind its locks
 * which permits are still open, so that each is ended once.
 */
import { ENDED_OPENINGS_MAX } from "@runseal/core/artifacts/permit-end"
import { PermitRefusal } from "@runseal/core/seal/permits/pending"
import type { PendingEnd } from "@runseal/core/seal/permits/settle-permits"
import type { Database } from "../store/driver/database.ts"
import { countOpenPermits, type DuePermit, findDuePermits, type OpenPermits } from "../store/tables/permits-table.ts"
import { BATCH_MAX_ITEMS, type Sealer } from "./sealer.ts"
import { openSweeping, type Sweeping } from "./sweeping.ts"

/** How often due permits are looked for, in milliseconds. */
const SWEEP_EVERY_MS = 5000
/** Most permits that one step ends. */
const STEP_MAX_PERMITS = ENDED_OPENINGS_MAX
/** Most documents of one step: a quarter of a batch, so that runs are sealed meanwhile. */
const STEP_MAX_ENDS = BATCH_MAX_ITEMS / 4
/** How long a count of open permits is shown, in milliseconds. */
const COUNTED_FOR_MS = 10_000

export type PermitSweeper = Sweeping & {
  /** Counts the open permits of all processes, at most once in COUNTED_FOR_MS. Rejects when they cannot be read. */
  readonly openPermits: () => Promise<OpenPermits>
}

type SweeperParts = {
  readonly db: Pick<Database, "read">
  readonly sealer: Pick<Sealer, "endPermits">
  readonly nowMs: () => number
  /** Called when a step failed; the next does the same work. */
  readonly reportFailure: (error: unknown) => void
}

export function openPermitSweeper({ reportFailure, ...parts }: SweeperParts): PermitSweeper {
  const { db, nowMs } = parts
  const sweeping = openSweeping(() => endDuePermits(parts), SWEEP_EVERY_MS, reportFailure)
  return { ...sweeping, openPermits: createCount(db, nowMs) }
}

/** Ends some of the permits that are due. @returns whether there may be more */
export async function endDuePermits({ db, sealer, nowMs }: Omit<SweeperParts, "reportFailure">): Promise<boolean> {
  const due = await findDuePermits(db, nowMs(), STEP_MAX_PERMITS)
  const ends = endsOf(due).slice(0, STEP_MAX_ENDS)
  await Promise.all(ends.map(end => sealer.endPermits(end).catch(unlessNotOpen)))
  return due.length === STEP_MAX_PERMITS || ends.length === STEP_MAX_ENDS
}

/** Another process, or a close, was first. */
function unlessNotOpen(error: unknown): void {
  if (!(error instanceof PermitRefusal)) throw error
}

/** The due permits by tenant and reason: one document for each. */
function endsOf(due: readonly DuePermit[]): readonly PendingEnd[] {
  const ends = new Map<string, PendingEnd & { readonly permit_ids: string[] }>()
  for (const { permit_id, tenant_id, owner, revoked } of due) {
    const name = JSON.stringify([tenant_id, revoked])
    const known = ends.get(name)
    if (known !== undefined) known.permit_ids.push(permit_id)
    else
      ends.set(name, { tenant: { tenant_id, owner }, permit_ids: [permit_id], reason: revoked ? "revoked" : "expired" })
  }
  return [...ends.values()]
}

function createCount(db: Pick<Database, "read">, nowMs: () => number): () => Promise<OpenPermits> {
  let last: { readonly at: number; readonly counted: Promise<OpenPermits> } | undefined
  return () => {
    const now = nowMs()
    if (last === undefined || Math.abs(now - last.at) >= COUNTED_FOR_MS) {
      const counted = countOpenPermits(db)
      last = { at: now, counted }
      counted.catch(() => {
        last = undefined
      })
    }
    return last.counted
  }
}
