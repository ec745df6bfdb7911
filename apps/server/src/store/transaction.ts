/** Transactions: what is known of their outcome is in the error they end with. */
import type { Connection } from "./connection-pool.ts"
import { StoreError, storeErrorFrom } from "./errors.ts"
import { openSession, type Tx } from "./session.ts"

/**
 * Commits what `work` does when it resolves, rolls back when it rejects.
 * @param connection leased for this transaction alone
 * @throws StoreError, or whatever else `work` rejected with
 */
export async function runTransaction<T>(connection: Connection, work: (tx: Tx) => Promise<T>): Promise<T> {
  const result = await beginAndWork(connection, work)
  await commit(connection)
  return result
}

async function beginAndWork<T>({ client, orLost }: Connection, work: (tx: Tx) => Promise<T>): Promise<T> {
  const { session, end } = openSession(client)
  try {
    await orLost(client.unsafe("begin"))
    return await orLost(work(session))
  } catch (error) {
    end()
    // A connection that was lost has rolled back, and this only fails.
    await orLost(client.unsafe("rollback")).catch(() => {})
    throw storeErrorFrom(error)
  } finally {
    end()
  }
}

async function commit({ client, orLost }: Connection): Promise<void> {
  try {
    const { command } = await orLost(client.unsafe("commit"))
    // The server's answer when a statement of the transaction had failed and nobody minded.
    if (command !== "COMMIT") throw new StoreError("rolled_back")
  } catch (thrown) {
    const error = storeErrorFrom(thrown)
    // The server may have committed before it, or the way to it, went down.
    throw error instanceof StoreError && error.code === "unavailable" ? new StoreError("outcome_unknown") : error
  }
}
