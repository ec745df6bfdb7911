/**
 * Refuses writes while the database does not confirm commits, for example because its synchronous standby is gone. A COMMIT that
 * timed out here still waits in the server and holds its locks and its connection there, so that retries would use up all of them.
 * So after a commit that was not confirmed, writes wait for the confirmation of an empty commit, of which one at a time is under
 * way. Decision 0112.
 */
import { randomInt } from "node:crypto"
import type { ConnectionPool } from "./connection-pool.ts"
import { createGroupCommit } from "./group-commit.ts"
import type { Session } from "./session.ts"
import { StoreError } from "./store-errors.ts"
import { runStatement } from "./transaction.ts"

export type CommitGate = {
  /**
   * Does work that commits.
   * @throws StoreError "unavailable" when commits are not confirmed, and then `work` was not called; otherwise what it rejects with
   */
  readonly pass: <T>(work: () => Promise<T>) => Promise<T>
  /**
   * Resolves once everything that could be read at the time of the call is as durable as a confirmed commit. A commit whose
   * wait for a standby was cancelled, or ended by a crash, can be read before it is durable.
   * @throws StoreError "unavailable" when it is not known to be
   */
  readonly confirm: () => Promise<void>
}

/** For a database without standbys: what can be read is durable. */
export const OPEN_GATE: CommitGate = { pass: work => work(), confirm: async () => {} }

/** First half of the keys of the advisory locks here: "rscp" in ASCII, read as a number; the second half is the process's own. */
const CONFIRM_LOCK = 0x72736370
const MAX_INT4 = 0x7fff_ffff
/** Most callers that may wait for a confirmation; one more is refused at once. */
const MAX_WAITING = 4096

export function createCommitGate(pool: Pick<ConnectionPool, "lease">): CommitGate {
  const own = randomInt(MAX_INT4)
  let unconfirmed = false
  const noteUnconfirmed = (error: unknown): void => {
    unconfirmed ||= error instanceof StoreError && error.code === "outcome_unknown" && error.late
  }
  const confirmations = createGroupCommit<true, true>(
    async batch => {
      const position = await pool
        .lease(connection => runStatement(connection, session => commitNothing(session, own)))
        .catch((error: unknown) => {
          noteUnconfirmed(error)
          throw error instanceof StoreError ? new StoreError("unavailable", { late: true }) : error
        })
      if (position === null) throw new StoreError("unavailable", { late: true })
      unconfirmed = false
      return batch
    },
    { batch: MAX_WAITING, waiting: MAX_WAITING, readsOnly: true },
  )
  const confirm = async (): Promise<void> => void (await confirmations.submit(true))
  return {
    pass: async work => {
      if (unconfirmed) await confirm()
      try {
        return await work()
      } catch (error) {
        noteUnconfirmed(error)
        throw error
      }
    },
    confirm,
  }
}

/**
 * Commits a message without receivers, which the write-ahead log holds after everything that was committed before.
 * @returns its position; null while an earlier one still waits for its standby and so holds the lock
 */
async function commitNothing({ sql }: Session, own: number): Promise<string | null> {
  const [row] = await sql<{ position: string | null }[]>`
    select case when pg_try_advisory_xact_lock(${CONFIRM_LOCK}::int, ${own}::int)
      then pg_logical_emit_message(true, 'runseal', '')::text end as position`
  return row?.position ?? null
}
