/**
 * A pool of connections, each leased whole and never used again once it is lost.
 *
 * postgres.js has a pool of its own, but version 3.4.9 is not safe when a connection goes down inside a transaction: its
 * ROLLBACK then writes to a socket that is null, in a callback nobody can catch; statements sent between a socket's error and
 * its close are never answered; and statements of the dead transaction may run inside another one on the successor of its
 * connection. So each client here has one connection, everything races with its loss, and the moment it is lost the client
 * can connect no more.
 */
import { Duplex } from "node:stream"
import { connectionClosed, StoreError } from "./errors.ts"
import type { StoreClient } from "./session.ts"

/** Work that may wait for a connection; more is refused at once. */
export const MAX_WAITING_LEASES = 4096

/** Longest wait for running statements when the pool closes, in seconds. */
const CLOSE_TIMEOUT_SECONDS = 5

export type Connection = {
  readonly client: StoreClient
  /**
   * Settles as `answer` does, or rejects when the connection is lost. Whatever waits for an answer waits through this, or it
   * may wait for ever. A promise of the loss would not do: whoever raced with it would be kept until the connection ends.
   */
  readonly orLost: <T>(answer: PromiseLike<T>) => Promise<T>
}

export type ConnectionPool = {
  /**
   * Runs `work` with a connection of its own.
   * @throws StoreError "unavailable" when too much waits or the pool is closed; otherwise what `work` rejected with
   */
  readonly lease: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  readonly close: () => Promise<void>
}

/** Makes a client of one connection, which calls `lost` when that is gone. It connects with its first statement. */
export type OpenClient = (lost: () => void) => StoreClient

type Waiting = { readonly resolve: (connection: Connection) => void; readonly reject: (error: StoreError) => void }

/** A pool of at most `size` connections. */
export function createConnectionPool(size: number, openClient: OpenClient): ConnectionPool {
  const live = new Set<Connection>()
  const idle: Connection[] = []
  const waiting: Waiting[] = []
  let leased = 0
  let closed = false

  const open = (): Connection => {
    const connection = openConnection(openClient, () => live.delete(connection))
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
      await Promise.all([...live].map(({ client }) => client.end({ timeout: CLOSE_TIMEOUT_SECONDS })))
    },
  }
}

function openConnection(openClient: OpenClient, gone: () => void): Connection {
  const waiting = new Set<(error: Error) => void>()
  let loss: Error | undefined
  const client = openClient(() => {
    if (loss !== undefined) return
    Object.assign(client.options, { host: [], socket: failingSocket })
    loss = connectionClosed()
    gone()
    for (const reject of waiting) reject(loss)
    waiting.clear()
  })
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
  return { client, orLost }
}

/** A socket that fails as soon as it is there: the driver rejects what it was to send, one statement after the other. */
function failingSocket(): Duplex {
  const socket = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() })
  setImmediate(() => socket.destroy(connectionClosed()))
  return socket
}
