/** Sessions: one connection as store functions use it. */
import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js"
import type postgres from "postgres"
import type { Connection, StoreClient, StoreTypes } from "./connection-pool.ts"
import { StoreError } from "./store-errors.ts"
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
 * @param place the connection of the server
 */
export function openSession(
  { client, within }: Connection,
  answerMs: number,
  place: () => object = () => client,
): { readonly session: Session; readonly end: () => void } {
  const sent = (answer: PromiseLike<unknown>): void => void within(answerMs, answer).catch(() => {})
  const { proxy, revoke } = Proxy.revocable(client, answerMs === Number.POSITIVE_INFINITY ? {} : observing(sent))
  const session: Session = {
    sql: proxy,
    get connection() {
      return place()
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
const observing = (sent: Sent): ProxyHandler<StoreClient> => ({
  apply: (target, self, args) => observeSending(Reflect.apply(target, self, args), sent),
  get: (target, name) => {
    if (name !== "unsafe") return Reflect.get(target, name)
    return (...args: Parameters<StoreClient["unsafe"]>) => observeSending(target.unsafe(...args), sent)
  },
})

/** The driver sends a statement when its `then` is called first. A part of another statement is never sent by itself. */
function observeSending<Statement>(statement: Statement, sent: Sent): Statement {
  if (!(statement instanceof Promise)) return statement
  const first: typeof statement.then = (...handlers) => {
    // From here on the driver's own again.
    Reflect.deleteProperty(statement, "then")
    sent(statement)
    return statement.then(...handlers)
  }
  Reflect.set(statement, "then", first)
  return statement
}

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
