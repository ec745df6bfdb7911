/**
 * One connection as store functions use it: its sessions, the rows that they insert, and its transactions, reads and statements.
 */

import { getTableColumns, getTableName } from "drizzle-orm"
import type { PgTable } from "drizzle-orm/pg-core"
import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js"
import type postgres from "postgres"
import type { Connection, StoreClient, StoreTypes } from "./connection-pool.ts"
import { endsConnection, StoreError, storeErrorFrom } from "./store-errors.ts"
/** For reads: a database, or a transaction that has to read its own writes. */
export type Source = {
  /** Runs `work` on one connection. */
  readonly read: <T>(work: (session: Session) => Promise<T>) => Promise<T>
}

/** For single statements that write: a database, or a transaction that commits them with the rest. */
export type Sink = {
  readonly write: <T>(statement: (session: Session) => Promise<T>) => Promise<T>
}

/** One connection, for the duration of the work; a statement sent later is refused. */
export type Session = Source &
  Sink & {
    /** For hot statements. */
    readonly sql: postgres.ISql<StoreTypes>
    /**
     * The same for all sessions of one connection of the server, and for those of no other: a reconnected client is another one. Of a
     * transaction through a pooler it is known once BEGIN was answered.
     */
    readonly connection: object
    /** For everything else. */
    readonly orm: PostgresJsDatabase
  }

/** A session inside a transaction: all its statements commit or none does. */
export type Tx = Session

/**
 * A session on a connection, and the function that ends it: a late statement of a transaction must not reach the next one.
 * @param answerMs longest wait for the answer to a statement, from when it is sent; then the connection is dropped
 * @param place the connection of the server, of a transaction
 */
export function openSession(
  { client, within }: Connection,
  answerMs: number,
  place?: () => object,
): { readonly session: Session; readonly end: () => void } {
  const isBounded = answerMs !== Number.POSITIVE_INFINITY
  const sent = (answer: PromiseLike<unknown>): void => void (isBounded && within(answerMs, answer).catch(() => {}))
  const isOnce = place !== undefined
  const { proxy, revoke } = Proxy.revocable(client, isBounded || isOnce ? observing(sent, isOnce) : {})
  const session: Session = {
    sql: proxy,
    get connection() {
      return place?.() ?? client
    },
    get orm() {
      return drizzle(proxy)
    },
    // Async functions, so that they return promises: a statement of the query builder would be sent each time it is awaited.
    read: async work => work(session),
    write: async statement => statement(session),
  }
  return { session, end: revoke }
}

type Sent = (answer: PromiseLike<unknown>) => void

/** Calls `sent` with every statement when it is sent. */
const observing = (sent: Sent, isOnce: boolean): ProxyHandler<StoreClient> => ({
  apply: (target, self, args) => observeSending(Reflect.apply(target, self, args), sent, isOnce),
  get: (target, name) => {
    if (name !== "unsafe") return Reflect.get(target, name)
    return (...args: Parameters<StoreClient["unsafe"]>) => observeSending(target.unsafe(...args), sent, isOnce)
  },
})

/** The driver sends a statement when its `then` is called first. A part of another statement is never sent by itself. */
function observeSending<Statement>(statement: Statement, sent: Sent, isOnce: boolean): Statement {
  if (!(statement instanceof Promise)) return statement
  if (isOnce) sendOnce(statement)
  const first: typeof statement.then = (...handlers) => {
    // From here on the driver's own again.
    Reflect.deleteProperty(statement, "then")
    sent(statement)
    return statement.then(...handlers)
  }
  Reflect.set(statement, "then", first)
  return statement
}

/**
 * The driver sends a prepared statement again, behind all others, when the server no longer knows it. In a transaction that is of no use, and
 * behind its COMMIT it would be a transaction of its own. postgres.js 3.4.9, src/connection.js, retry.
 */
const sendOnce = (statement: object): void =>
  void Reflect.defineProperty(statement, "retried", {
    set: (error: unknown) => {
      const reject: unknown = Reflect.get(statement, "reject")
      Reflect.set(statement, "cancelled", true)
      if (typeof reject === "function") reject(error)
    },
  })

const INT8_OID = 20

/** postgres.js's entry for PostgreSQL's `bigint`. */
export const int8: {
  to: number
  from: number[]
  serialize: (value: number) => string
  parse: (text: string) => number
} = {
  to: INT8_OID,
  from: [INT8_OID],
  serialize: String,
  parse: text => {
    const value = Number(text)
    if (!Number.isSafeInteger(value)) throw new StoreError("corrupt")
    return value
  },
}

// Many rows with few statements: the fastest way that both databases offer (the embedded one has no COPY).

/**
 * Most rows of one statement. A statement takes a power of two of the remaining rows. So there are seven statements per table, which
 * the server parses and plans once, and a batch of any size needs few of them. The query builder would build each of them anew.
 */
const MOST_ROWS = 64

/** Statements by table and number of rows, written once. Tables are names from the code: there are few. */
const statements = new Map<string, string>()

type Cell = string | number | boolean | Uint8Array

/** A row as the driver sends it, and nothing besides. */
type SentRow<Table extends PgTable> = Readonly<Record<string, Cell>> & {
  readonly [Name in keyof Table["$inferSelect"]]: Extract<Table["_"]["columns"][Name]["_"]["driverParam"], Cell>
}

/** Inserts rows. The statements are sent together and none waits for the answer to another. */
export async function insertRows<Table extends PgTable>(
  { sql }: Session,
  table: Table,
  rows: readonly SentRow<Table>[],
): Promise<void> {
  const columns = Object.keys(getTableColumns(table))
  const sent: PromiseLike<unknown>[] = []
  for (let first = 0; first < rows.length; ) {
    const count = Math.min(MOST_ROWS, 2 ** Math.floor(Math.log2(rows.length - first)))
    const cells = rows.slice(first, first + count).flatMap(row => columns.map(column => row[column] ?? missing(column)))
    sent.push(sql.unsafe(statementOf(getTableName(table), columns, count), cells, { prepare: true }))
    first += count
  }
  await Promise.all(sent)
}

function missing(column: string): never {
  throw new TypeError(`a row to insert has no ${column}`)
}

function statementOf(table: string, columns: readonly string[], count: number): string {
  const name = `${table} ${count}`
  const known = statements.get(name)
  if (known !== undefined) return known
  const rowOf = (row: number): string => `(${columns.map((_, at) => `$${row * columns.length + at + 1}`).join(",")})`
  const values = Array.from({ length: count }, (_, row) => rowOf(row)).join(",")
  const statement = `insert into ${table} (${columns.join(",")}) values ${values}`
  statements.set(name, statement)
  return statement
}

// Transactions. The error that one ends with says what is known of its outcome.

/** The first statements of a transaction, on their way together with its BEGIN. */
export type Opening<First> = (tx: Tx) => Promise<First>

/**
 * Sends the last statements of a transaction together with its COMMIT, so that no lock waits for this process between them; where the connection
 * does not describe statements first, as it does behind a pooler. What their answers show comes too late to roll back: what they rely on was
 * locked and compared before. One that cannot be sent rolls the transaction back. A statement that is sent later is refused.
 * @param send sends all of them before it returns
 */
export type SendLast = <Sent extends readonly PromiseLike<unknown>[]>(send: () => Sent) => Promise<unknown>

/** The rest of a transaction, with the results of its first statements. */
export type Work<First, T> = (tx: Tx, first: First, sendLast: SendLast) => Promise<T>

/**
 * Commits what `work` does when it resolves, rolls back when it rejects.
 * @param connection leased for this transaction alone
 * @throws StoreError, or whatever else `work` rejected with
 */
export const runTransaction = <T>(connection: Connection, work: (tx: Tx) => Promise<T>): Promise<T> =>
  runTransactionFrom(connection, NOTHING, work)

const NOTHING: Opening<undefined> = async () => undefined

/** The same with first statements that are sent together with BEGIN, and perhaps last ones with COMMIT. */
export async function runTransactionFrom<First, T>(
  connection: Connection,
  open: Opening<First>,
  work: Work<First, T>,
): Promise<T> {
  let committing: Promise<void> | undefined
  const commitBehind: CommitBehind = (sent, isUnsent) => {
    committing = sentBefore().then(() => (isUnsent() ? rollBack(connection) : commit(connection, sent)))
    // Awaited below.
    committing.catch(() => {})
  }
  try {
    const result = await beginAndWork(connection, open, work, connection.bounds.statement, commitBehind)
    await (committing ?? commit(connection))
    return result
  } catch (error) {
    if (committing === undefined) throw error
    const answered = await committing.catch((reason: unknown) => reason)
    // Behind a statement that the server refused, COMMIT is answered with ROLLBACK. Otherwise its own answer says what became of it.
    const isRefused = error instanceof StoreError && error.sqlstate !== undefined && !isLoss(error)
    if (isRefused || isRolledBack(answered)) throw error
    throw new StoreError("outcome_unknown", { late: answered instanceof StoreError && answered.late })
  }
}

/** @param isUnsent whether one of the last statements has failed before it was sent */
type CommitBehind = (sent: Promise<unknown>, isUnsent: () => boolean) => void

/** @throws StoreError "rolled_back" always */
async function rollBack({ client, within, bounds, drop }: Connection): Promise<never> {
  await within(bounds.statement, client.unsafe("rollback")).catch(drop)
  throw new StoreError("rolled_back")
}

const isRolledBack = (answered: unknown): boolean => answered instanceof StoreError && answered.code === "rolled_back"

/** Resolves once all statements are sent that are awaited by now: the driver sends them in microtasks, which a tick comes after. */
const sentBefore = (): Promise<void> => new Promise(resolve => process.nextTick(resolve))

async function beginAndWork<First, T>(
  connection: Connection,
  open: Opening<First>,
  work: Work<First, T>,
  answerMs: number,
  commitBehind?: CommitBehind,
): Promise<T> {
  const { client, orLost, within, bounds, drop } = connection
  let place: object = connection.pooling === undefined ? client : {}
  let isCommitting = false
  const { session, end } = openSession(connection, answerMs, () => place)
  try {
    // The driver sends a statement once it is awaited: BEGIN before all others.
    const starting = within(answerMs, begin(connection))
    const [at, first] = await Promise.all([starting, orLost(open(session))])
    place = at
    const sendLast: SendLast = async send => {
      const sending = send()
      end()
      isCommitting = commitBehind !== undefined
      let isUnsent = false
      // Those that the server refuses are refused later than COMMIT is sent.
      for (const one of sending)
        Promise.resolve(one).catch(() => {
          isUnsent = true
        })
      const sent = sentTogether(sending)
      commitBehind?.(sent, () => isUnsent)
      return sent
    }
    return await orLost(work(session, first, sendLast))
  } catch (error) {
    end()
    const failure = failureOf(connection, error)
    // A connection that was lost has rolled back, and this only fails; one that does not is of no use to the next transaction.
    if (!isCommitting) await within(bounds.statement, client.unsafe("rollback")).catch(drop)
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

/** @param behind what was sent before it: its own time begins when that is answered. A warning of theirs counts as one of its own */
async function commit(connection: Connection, behind?: Promise<unknown>): Promise<void> {
  const { client, within, bounds, orLost } = connection
  const warnings = connection.warnings()
  const answer = Promise.resolve(client.unsafe("commit"))
  answer.catch(() => {})
  // The driver may leave statements unanswered whose connection is lost.
  if (behind !== undefined) await orLost(behind).catch(() => {})
  const { command } = await confirmed(connection, within(bounds.commit, answer), isUnavailable, warnings)
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
  before = connection.warnings(),
): Promise<T> {
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
