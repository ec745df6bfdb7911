/** Transactions. The error that one ends with says what is known of its outcome. */
import type { Connection } from "./connection-pool.ts"
import { openSession, type Session, type Tx } from "./session.ts"
import { endsConnection, StoreError, storeErrorFrom } from "./store-errors.ts"

/** The first statements of a transaction, on their way together with its BEGIN. */
export type Opening<First> = (tx: Tx) => Promise<First>

/** The rest of a transaction, with the results of its first statements. */
export type Work<First, T> = (tx: Tx, first: First) => Promise<T>

/**
 * Commits what `work` does when it resolves, rolls back when it rejects.
 * @param connection leased for this transaction alone
 * @throws StoreError, or whatever else `work` rejected with
 */
export const runTransaction = <T>(connection: Connection, work: (tx: Tx) => Promise<T>): Promise<T> =>
  runTransactionFrom(connection, NOTHING, work)

const NOTHING: Opening<undefined> = async () => undefined

/** The same with first statements that are sent together with BEGIN. */
export async function runTransactionFrom<First, T>(
  connection: Connection,
  open: Opening<First>,
  work: Work<First, T>,
): Promise<T> {
  const result = await beginAndWork(connection, open, work, connection.bounds.statement)
  await commit(connection)
  return result
}

async function beginAndWork<First, T>(
  connection: Connection,
  open: Opening<First>,
  work: Work<First, T>,
  answerMs: number,
): Promise<T> {
  const { client, orLost, within, bounds, drop } = connection
  let place: object = connection.pooling === undefined ? client : {}
  const { session, end } = openSession(connection, answerMs, () => place)
  try {
    // The driver sends a statement once it is awaited: BEGIN before all others.
    const starting = within(answerMs, begin(connection))
    const [at, first] = await Promise.all([starting, orLost(open(session))])
    place = at
    return await orLost(work(session, first))
  } catch (error) {
    end()
    const failure = failureOf(connection, error)
    // A connection that was lost has rolled back, and this only fails; one that does not is of no use to the next transaction.
    await within(bounds.statement, client.unsafe("rollback")).catch(drop)
    throw failure
  } finally {
    end()
  }
}

/** @returns the connection of the server */
async function begin({ client, pooling }: Connection): Promise<object> {
  if (pooling === undefined) {
    await client.unsafe("begin")
    return client
  }
  const [, rows] = await client.unsafe<[unknown, { name: string }[]]>(pooling.begin)
  return pooling.serverConnection(rows[0]?.name ?? "")
}

/** A statement's error, as it leaves the store; a connection that is of no more use is dropped. */
function failureOf({ drop }: Pick<Connection, "drop">, thrown: unknown): unknown {
  const error = storeErrorFrom(thrown)
  if (endsConnection(error)) drop()
  return error
}

/**
 * A read: rejects with StoreError, or whatever else `work` rejected with.
 * @param answerMs longest wait for the answer to a statement
 */
export async function runRead<T>(
  connection: Connection,
  answerMs: number,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  if (connection.pooling !== undefined) {
    const result = await beginAndWork(connection, NOTHING, work, answerMs)
    await connection.within(answerMs, connection.client.unsafe("commit")).catch(connection.drop)
    return result
  }
  const { session, end } = openSession(connection, answerMs)
  try {
    return await connection.orLost(work(session))
  } catch (thrown) {
    throw failureOf(connection, thrown)
  } finally {
    end()
  }
}

/**
 * Waits for statements of a transaction that were sent together. When one fails, so do those after it and the transaction: the
 * first error is thrown.
 * @param sent in the order in which they were sent. The driver sends a statement when it is awaited, and one of the query builder each
 *   time it is awaited, so that those must be wrapped in an async function
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
 * @throws StoreError "outcome_unknown" when the commit was not confirmed; otherwise whatever `work` rejected with
 */
export async function runStatement<T>(connection: Connection, work: (session: Session) => Promise<T>): Promise<T> {
  if (connection.pooling !== undefined) return runTransaction(connection, work)
  const { session, end } = openSession(connection, connection.bounds.commit)
  try {
    return await confirmed(connection, connection.orLost(work(session)), isLoss)
  } finally {
    end()
  }
}

async function commit(connection: Connection): Promise<void> {
  const { client, within, bounds } = connection
  const { command } = await confirmed(connection, within(bounds.commit, client.unsafe("commit")), isUnavailable)
  // The server answers ROLLBACK when a statement of the transaction had failed and its error was ignored.
  if (command !== "COMMIT") throw new StoreError("rolled_back")
}

/**
 * The answer to what commits. The server may have committed before it, or the way to it, went down; and when its wait for a
 * standby is cancelled it answers as after any commit, with a warning that the transaction may not be there. So any warning
 * means that the outcome is unknown. PostgreSQL documentation, "Synchronous Replication".
 * @param leavesOpen whether an error says nothing of the outcome
 */
async function confirmed<T>(
  connection: Connection,
  answer: Promise<T>,
  leavesOpen: (error: unknown) => error is StoreError,
): Promise<T> {
  const before = connection.warnings()
  try {
    const result = await answer
    if (connection.warnings() === before) return result
  } catch (thrown) {
    const error = failureOf(connection, thrown)
    if (!leavesOpen(error)) throw error
    connection.drop()
    throw new StoreError("outcome_unknown", { late: error.late })
  }
  connection.drop()
  // The next commit would wait for the same standby.
  throw new StoreError("outcome_unknown", { late: true })
}

const isUnavailable = (error: unknown): error is StoreError =>
  error instanceof StoreError && error.code === "unavailable"

/** Whether no server answered, or one that ended the connection, which it may do after the commit. */
const isLoss = (error: unknown): error is StoreError => isUnavailable(error) && /^(57P|08|$)/.test(error.sqlstate ?? "")
