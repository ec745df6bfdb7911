/** What store functions run on. */
import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js"
import type postgres from "postgres"
import { StoreError } from "./errors.ts"

/** `bigint` columns arrive as numbers within ±(2^53−1); anything beyond is refused as corrupt. */
export type StoreTypes = { readonly bigint: number }

/** A postgres.js client of either kind of database. */
export type StoreClient = postgres.Sql<StoreTypes>

/** Where reads may go: a database, or a transaction that is to see its own writes. */
export type Source = {
  /** Runs `work` on one connection. */
  readonly read: <T>(work: (session: Session) => Promise<T>) => Promise<T>
}

/** One connection for as long as the work that was given it takes; a statement sent later is refused. */
export type Session = Source & {
  /** For hot statements. */
  readonly sql: postgres.ISql<StoreTypes>
  /** The same for all sessions of one connection, and for those of no other: a reconnected client is another one. */
  readonly connection: object
  /** For everything else. */
  readonly orm: PostgresJsDatabase
}

/** A session inside a transaction: all its statements commit or none does. */
export type Tx = Session

/** A session on a client, and what ends it: a statement that outlives its transaction must not reach the next one. */
export function openSession(client: StoreClient): { readonly session: Session; readonly end: () => void } {
  const { proxy, revoke } = Proxy.revocable(client, {})
  const session: Session = {
    sql: proxy,
    connection: client,
    get orm() {
      return drizzle(proxy)
    },
    read: work => work(session),
  }
  return { session, end: revoke }
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
