/**
 * Finds out whether a batch could be committed now, by doing what a batch does and rolling it back: the head's lock, a write to
 * each table, room on the disk, a commit that is confirmed, a head beside the keys. Decision 0113.
 */
import type { SealingHeads } from "../heads/heads.ts"
import type { Database } from "../store/driver/database.ts"
import type { Session } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import { findWaits, writeAsABatch } from "../store/tables/trial-batch.ts"

export const REASONS = {
  silent: "The database does not answer.",
  absent: "The database is not available.",
  readOnly: "The database takes no writes.",
  locked: "The log is locked by a transaction that does not end.",
  unconfirmed: "The database does not confirm commits.",
  descriptors: "The database can open no more files: raise the limit of file descriptors of the process.",
  full: "The disk of the database is full.",
  refused: "The database refuses what sealing writes.",
  heads: "The folder of the heads beside the keys takes no writes.",
} as const
export type Reason = (typeof REASONS)[keyof typeof REASONS]

/** Thrown to roll the trial back. */
class RolledBack extends Error {}

type TrialParts = {
  readonly db: Pick<Database, "transaction" | "confirm">
  readonly heads: Pick<SealingHeads, "readyToRemember">
  /** Called before each step, with the reason to report if the step gets no answer. */
  readonly trying: (reason: Reason) => void
}

/** @returns why nothing can be sealed; undefined when a batch could be */
export async function whyNotSealed({ db, heads, trying }: TrialParts): Promise<Reason | undefined> {
  trying(REASONS.unconfirmed)
  const refused = await db
    .transaction(async tx => {
      trying(REASONS.locked)
      await writeAsABatch(tx)
      throw new RolledBack()
    })
    .catch(reasonOf)
  if (refused !== undefined) return refused
  trying(REASONS.unconfirmed)
  const unconfirmed = await db.confirm().catch(reasonOf)
  if (unconfirmed !== undefined) return unconfirmed
  trying(REASONS.heads)
  return heads.readyToRemember().then(
    () => undefined,
    () => REASONS.heads,
  )
}

function reasonOf(error: unknown): Reason | undefined {
  if (error instanceof RolledBack) return undefined
  if (!(error instanceof StoreError)) return REASONS.refused
  const { code, sqlstate, late } = error
  if (sqlstate === "53100") return REASONS.full
  if (sqlstate === "53000") return REASONS.descriptors
  if (sqlstate === "55P03") return REASONS.locked
  if (sqlstate === "25006") return REASONS.readOnly
  if (late || code === "outcome_unknown") return REASONS.unconfirmed
  return code === "unavailable" ? REASONS.absent : REASONS.refused
}

/** Why another process that seals is waiting; undefined when none is. The database shows only the sessions of this user. */
export async function waitOfOthers(session: Session): Promise<Reason | undefined> {
  const { unconfirmed, locked } = await findWaits(session)
  if (unconfirmed) return REASONS.unconfirmed
  return locked ? REASONS.locked : undefined
}
