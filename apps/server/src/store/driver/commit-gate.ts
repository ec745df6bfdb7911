/**
 * Keeps writers from a database that does not confirm commits, as one whose synchronous standby is gone. A COMMIT that was given
 * up goes on waiting over there and keeps its locks and its connection: whoever tried again and again would use them all up.
 * So after one that was not confirmed nobody writes before a commit of nothing has been confirmed, and of those one at a time
 * is under way. Decision 0112.
 */
import { randomInt } from "node:crypto"
import type { ConnectionPool } from "./connection-pool.ts"
import { createGroupCommit } from "./group-commit.ts"
import type { Session } from "./session.ts"
import { StoreError } from "./store-errors.ts"
import { runStatement } from "./transaction.ts"

export type CommitGate = {
  /**
   * Does what commits.
   * @throws StoreError "unavailable" when commits are not confirmed, and then `work` was not called; otherwise what it rejects with
   */
  readonly pass: <T>(work: () => Promise<T>) => Promise<T>
  /**
   * Resolves once everything that could be read when it was asked is as durable as a confirmed commit: what a commit left
   * whose wait for a standby was cancelled, or ended by a crash, can be read before it is.
   * @throws StoreError "unavailable" when it is not known to be
   */
  readonly confirm: () => Promise<void>
}

/** For a database whose commits wait for nobody else: what can be read is durable. */
export const OPEN_GATE: CommitGate = { pass: work => work(), confirm: async () => {} }

/** First half of the keys of the advisory locks here: "rscp" in ASCII, read as a number; the second half is the process's own. */
const CONFIRM_LOCK = 0x72736370
const MAX_INT4 = 0x7fff_ffff
/** Most who may wait for a confirmation; one more is refused at once. */
const MAX_WAITING = 4096

export function openCommitGate(pool: Pick<ConnectionPool, "lease">): CommitGate {
  const own = randomInt(MAX_INT4)
  let doubted = false
  const doubt = (error: unknown): void => {
    doubted ||= error instanceof StoreError && error.code === "outcome_unknown" && error.late
  }
  const confirmations = createGroupCommit<true, true>(
    async batch => {
      const position = await pool
        .lease(connection => runStatement(connection, session => commitNothing(session, own)))
        .catch((error: unknown) => {
          doubt(error)
          throw error instanceof StoreError ? new StoreError("unavailable", { late: true }) : error
        })
      if (position === null) throw new StoreError("unavailable", { late: true })
      doubted = false
      return batch
    },
    { batch: MAX_WAITING, waiting: MAX_WAITING },
  )
  const confirm = async (): Promise<void> => void (await confirmations.submit(true))
  return {
    pass: async work => {
      if (doubted) await confirm()
      try {
        return await work()
      } catch (error) {
        doubt(error)
        throw error
      }
    },
    confirm,
  }
}

/**
 * Commits a message to nobody, which the log of the database holds behind all that was committed before.
 * @returns its position; null while an earlier one still waits for its standby and so holds the lock
 */
async function commitNothing({ sql }: Session, own: number): Promise<string | null> {
  const [row] = await sql<{ position: string | null }[]>`
    select case when pg_try_advisory_xact_lock(${CONFIRM_LOCK}::int, ${own}::int)
      then pg_logical_emit_message(true, 'runseal', '')::text end as position`
  return row?.position ?? null
}
