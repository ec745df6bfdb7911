/** Transactions: what is known of their outcome is in the error they end with. */
import type { Connection } from "./connection-pool.ts"
import { StoreError, storeErrorFrom } from "./errors.ts"
import { openSession, type Session, type Tx } from "./session.ts"

/** The first statements of a transaction, on their way together with its BEGIN. */
export type Opening<First> = (tx: Tx) => Promise<First>

/** What a transaction does with what its first statements gave. */
export type Work<First, T> = (tx: Tx, first: First) => Promise<T>

/**
 * Commits what `work` does when it resolves, rolls back when it rejects.
 * @param connection leased for this transaction alone
 * @throws StoreError, or whatever else `work` rejected with
 */
export const runTransaction = <T>(connection: Connection, work: (tx: Tx) => Promise<T>): Promise<T> =>
  runTransactionFrom(connection, async () => undefined, work)

/** The same with first statements that are sent together with BEGIN. */
export async function runTransactionFrom<First, T>(
  connection: Connection,
  open: Opening<First>,
  work: Work<First, T>,
): Promise<T> {
  const result = await beginAndWork(connection, open, work)
  await commit(connection)
  return result
}

async function beginAndWork<First, T>(
  { client, orLost }: Connection,
  open: Opening<First>,
  work: Work<First, T>,
): Promise<T> {
  const { session, end } = openSession(client)
  try {
    // The driver sends a statement once somebody waits for it: BEGIN before all others.
    const begun = orLost(client.unsafe("begin"))
    const [, first] = await Promise.all([begun, orLost(open(session))])
    return await orLost(work(session, first))
  } catch (error) {
    end()
    // A connection that was lost has rolled back, and this only fails.
    await orLost(client.unsafe("rollback")).catch(() => {})
    throw storeErrorFrom(error)
  } finally {
    end()
  }
}

/**
 * Waits for statements of a transaction that were sent together. When one fails, so do those behind it and the transaction: what
 * it met is thrown, not what they did.
 * @param sent in the order in which they were sent: the driver sends a statement when it is awaited
 */
export async function sentTogether<Sent extends readonly PromiseLike<unknown>[] | []>(
  sent: Sent,
): Promise<{ -readonly [At in keyof Sent]: Awaited<Sent[At]> }> {
  const settled = await Promise.allSettled(sent)
  for (const one of settled) if (one.status === "rejected") throw one.reason
  return Promise.all(sent)
}

/**
 * One statement that is a transaction of its own: the server commits before it answers.
 * @param connection leased for this statement alone
 * @throws StoreError "outcome_unknown" when it was lost with the connection; otherwise whatever `work` rejected with
 */
export async function runStatement<T>(
  { client, orLost }: Connection,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const { session, end } = openSession(client)
  try {
    return await orLost(work(session))
  } catch (thrown) {
    const error = storeErrorFrom(thrown)
    throw isLoss(error) ? new StoreError("outcome_unknown") : error
  } finally {
    end()
  }
}

/** Whether no server answered, or one that ended the connection, which it may do after the commit. */
const isLoss = (error: unknown): boolean =>
  error instanceof StoreError && error.code === "unavailable" && /^(57P|08|$)/.test(error.sqlstate ?? "")

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
