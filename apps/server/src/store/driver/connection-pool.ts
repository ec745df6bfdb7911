/**
 * A pool of connections, each leased whole and never used again once it is lost; and what is otherwise where PgBouncer is in front of the database.
 *
 * postgres.js has a pool of its own, but version 3.4.9 is not safe when a connection goes down inside a transaction: its
 * ROLLBACK then writes to a socket that is null, and throws in a callback where it cannot be caught; statements sent between a socket's error and
 * its close are never answered; and statements of the dead transaction may run inside another one on the successor of its
 * connection. So each client here has one connection, everything races with its loss, and the moment it is lost the client
 * can connect no more.
 */

import { Duplex } from "node:stream"
import { setImmediate as nextTurn } from "node:timers/promises"
import type postgres from "postgres"
import { connectionClosed, StoreError } from "./store-errors.ts"

/** `bigint` columns arrive as numbers within ±(2^53−1); anything beyond is refused as corrupt. */
export type StoreTypes = { readonly bigint: number }

/** A postgres.js client of either kind of database. */
export type StoreClient = postgres.Sql<StoreTypes>

/** Work that may wait for a connection; more is refused at once. */
export const MAX_WAITING_LEASES = 4096

/** Longest wait for running statements when the pool closes, in seconds. */
const CLOSE_TIMEOUT_SECONDS = 5

/** Longest waits for an answer, in milliseconds; Infinity for none. Past one of them the connection is dropped. */
export type AnswerBounds = {
  /** A statement of a read. */
  readonly read: number
  /** A statement inside a transaction. */
  readonly statement: number
  /** COMMIT, a statement that commits by itself, and a read that finds few rows by their keys. */
  readonly commit: number
}

/** For a database without a network in between: it answers or is gone. */
const UNBOUNDED: AnswerBounds = { read: Infinity, statement: Infinity, commit: Infinity }

export type Connection = {
  readonly client: StoreClient
  /**
   * Settles as `answer` does, or rejects when the connection is lost. Every wait for an answer goes through this, or it could
   * last for ever. A race with one promise of the loss would leak: its callbacks are held in memory until the connection ends.
   */
  readonly orLost: <T>(answer: PromiseLike<T>) => Promise<T>
  /** The same with a timeout in milliseconds, after which the connection is dropped. */
  readonly within: <T>(ms: number, answer: PromiseLike<T>) => Promise<T>
  readonly bounds: AnswerBounds
  /** Absent: it is one connection of the server for as long as it lasts. */
  readonly pooling: Pooling | undefined
  /** Ends the connection at once: nothing more is sent, and what is on its way back is not read. */
  readonly drop: () => void
  /** How many warnings the server has sent. */
  readonly warnings: () => number
}

export type ConnectionPool = {
  /**
   * Runs `work` with a connection of its own.
   * @throws StoreError "unavailable" when too much waits or the pool is closed; otherwise what `work` rejected with
   */
  readonly lease: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  readonly close: () => Promise<void>
}

/** Called for what happens on a connection besides answers. */
export type ConnectionEvents = {
  /** The connection is gone. */
  readonly lost: () => void
  /** The server sent a WARNING. */
  readonly warned: () => void
}

export type OpenedClient = {
  readonly client: StoreClient
  /** Ends its socket at once, whatever is on its way. */
  readonly cut: () => void
}

/** Makes a client of one connection. It connects with its first statement. */
export type OpenClient = (events: ConnectionEvents) => OpenedClient

type Waiting = { readonly resolve: (connection: Connection) => void; readonly reject: (error: StoreError) => void }

/** A pool of at most `size` connections. */
export function createConnectionPool(
  size: number,
  openClient: OpenClient,
  bounds: AnswerBounds = UNBOUNDED,
  pooling?: Pooling,
): ConnectionPool {
  const live = new Set<Connection>()
  const idle: Connection[] = []
  const waiting: Waiting[] = []
  let leased = 0
  let closed = false

  const open = (): Connection => {
    const connection = openConnection({ openClient, bounds, pooling, gone: () => live.delete(connection) })
    live.add(connection)
    return connection
  }
  const idleOrNew = (): Connection => {
    let connection = idle.pop()
    while (connection !== undefined && !live.has(connection)) connection = idle.pop()
    return connection ?? open()
  }
  const take = (): Promise<Connection> =>
    new Promise((resolve, reject) => {
      if (closed || waiting.length >= MAX_WAITING_LEASES) reject(new StoreError("unavailable"))
      else if (leased === size) waiting.push({ resolve, reject })
      else {
        leased++
        resolve(idleOrNew())
      }
    })
  const giveBack = (connection: Connection): void => {
    idle.push(connection)
    const next = waiting.shift()
    if (next === undefined) leased--
    else next.resolve(idleOrNew())
  }
  return {
    lease: async work => {
      const connection = await take()
      try {
        return await work(connection)
      } finally {
        giveBack(connection)
      }
    },
    close: async () => {
      closed = true
      for (const { reject } of waiting.splice(0)) reject(new StoreError("unavailable"))
      const ending = [...live]
      await Promise.all(ending.map(({ client }) => client.end({ timeout: CLOSE_TIMEOUT_SECONDS })))
      // A server that hangs never closes its side, which would keep this process alive.
      for (const { drop } of ending) drop()
    },
  }
}

type ConnectionParts = Pick<Connection, "bounds" | "pooling"> & {
  readonly openClient: OpenClient
  readonly gone: () => void
}

function openConnection({ openClient, bounds, pooling, gone }: ConnectionParts): Connection {
  const waiting = new Set<(error: Error) => void>()
  let loss: Error | undefined
  let warnings = 0
  const lose = (error: Error): void => {
    if (loss !== undefined) return
    Object.assign(client.options, { host: [], socket: () => failingSocket() })
    loss = error
    gone()
    for (const reject of waiting) reject(loss)
    waiting.clear()
  }
  const { client, cut } = openClient({ lost: () => lose(connectionClosed()), warned: () => void warnings++ })
  const drop = (error: Error = connectionClosed()): void => {
    lose(error)
    cut()
  }
  const orLost: Connection["orLost"] = answer =>
    new Promise((resolve, reject) => {
      if (loss === undefined) waiting.add(reject)
      else reject(loss)
      answer.then(
        value => {
          waiting.delete(reject)
          resolve(value)
        },
        (error: unknown) => {
          waiting.delete(reject)
          reject(error)
        },
      )
    })
  const within: Connection["within"] = (ms, answer) => {
    if (ms === Number.POSITIVE_INFINITY) return orLost(answer)
    let pending = true
    const timer = setTimeout(async () => {
      // After a busy time of this thread, answers that have arrived meanwhile are read first.
      await nextTurn()
      if (pending) drop(new StoreError("unavailable", { late: true }))
    }, ms)
    return orLost(answer).finally(() => {
      pending = false
      clearTimeout(timer)
    })
  }
  return { client, orLost, within, bounds, pooling, drop: () => drop(), warnings: () => warnings }
}

/** A socket that fails as soon as it is open: the driver rejects its pending statements, one after the other. */
export function failingSocket(error: Error = connectionClosed()): Duplex {
  const socket = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() })
  setImmediate(() => socket.destroy(error))
  return socket
}

// A pooler in front of the server that gives each transaction another connection of the server, such as PgBouncer in transaction mode.
// Nothing may be set for longer than a transaction, so each begins with the timeouts, and a statement by itself is one too.

/** What differs on connections to such a pooler. */
type Pooling = {
  /** Statements that begin a transaction, as one text. The last one gives the name of the server's connection. */
  readonly begin: string
  /** The same object for the same name. */
  readonly serverConnection: (name: string) => object
}

/** Settings of PostgreSQL by their names. */
export type Settings = Readonly<Record<string, string | number>>

/** More connections than a pooler keeps open to one database. What is forgotten counts as new, which costs a check of the log's head. */
const MAX_REMEMBERED = 1024

/** No two connections have the same process, database and start of their server. */
const SERVER_CONNECTION = `select pg_backend_pid() || ' ' || (select oid from pg_database where datname = current_database())
  || ' ' || extract(epoch from pg_postmaster_start_time()) as name`

/** @param settings in force in every transaction */
export function createPooling(settings: Settings): Pooling {
  const remembered = new Map<string, object>()
  const setting = Object.entries(settings).map(([name, value]) => `set local ${name} = '${value}'`)
  return {
    begin: ["begin", ...setting, SERVER_CONNECTION].join("; "),
    serverConnection: name => {
      if (remembered.size >= MAX_REMEMBERED && !remembered.has(name)) remembered.clear()
      const connection = remembered.get(name) ?? {}
      remembered.set(name, connection)
      return connection
    },
  }
}
