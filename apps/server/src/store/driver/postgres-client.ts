/** The postgres.js clients: one for the embedded database, one for a PostgreSQL server. Neither logs what it sends. */
import { randomInt } from "node:crypto"
import { connect as connectSocket, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"
import postgres from "postgres"
import { asksForPrimary, readServerAddress, type ServerHost } from "../../options/server-address.ts"
import { StartupError } from "../../options/startup-error.ts"
import {
  type AnswerBounds,
  type ConnectionEvents,
  createConnectionPool,
  failingSocket,
  type OpenClient,
  type OpenedClient,
  type Settings,
  type StoreClient,
} from "./connection-pool.ts"
import { int8 } from "./session.ts"
import { connectionClosed, driverCode, noPrimary } from "./store-errors.ts"

/** Connections of one process: the sealer holds one while it commits and one for its lock against other servers, the budget ledger one, the rest serve reads. */
export const SERVER_CONNECTIONS = 8
const CONNECT_TIMEOUT_SECONDS = 10
/** Longest wait for one of several servers to say whether it takes writes. */
const CHOICE_TIMEOUT_MS = 2_000
/** The server cancels a statement that runs longer. */
const STATEMENT_TIMEOUT_MS = 15_000
/** Longest wait for a row another process has locked: several servers under load wait for each other's batches. */
const LOCK_TIMEOUT_MS = 7_000
/** After this the server ends a transaction whose client sends nothing more, and releases its locks. */
const IDLE_TRANSACTION_TIMEOUT_MS = 30_000
/** Longest wait for another process that is migrating the same database; up to a second is added. */
const MIGRATION_TIMEOUT_MS = 300_000
/**
 * Timeouts on this side, for when those of the server have no effect: the server may hang, the network may drop everything, and no
 * timeout of the server ends a COMMIT that waits for a standby. A statement of a transaction waits for locks within its time.
 */
export const ANSWER_BOUNDS: AnswerBounds = {
  read: STATEMENT_TIMEOUT_MS + 1_000,
  statement: LOCK_TIMEOUT_MS + 1_000,
  commit: 5_000,
}

/** Of a standby, in whose place the primary is asked. */
const STANDBY_ANSWER_MS = 2_000
export const STANDBY_BOUNDS: AnswerBounds = {
  read: STANDBY_ANSWER_MS,
  statement: STANDBY_ANSWER_MS,
  commit: STANDBY_ANSWER_MS,
}

/** One connection that stays open and logs nothing of what it sends. */
const LASTING = {
  max: 1,
  idle_timeout: 0,
  max_lifetime: 0,
  types: { bigint: int8 },
  fetch_types: false,
  debug: false,
}

/** Clients of the embedded database. They have no timeouts: those need signals, which that database has not. */
export function pgliteClient(connect: () => Duplex): OpenClient {
  const address = { host: "localhost", user: "postgres", database: "postgres", ssl: false }
  return events => open(events, connect, listeners => postgres({ ...LASTING, ...address, ...listeners }))
}

type SocketOptions = Pick<postgres.ParsedOptions, "host" | "port" | "path">
type Connect = (options: SocketOptions) => Duplex | Promise<Duplex>
type Listeners = ReturnType<typeof listenersOf> & { readonly socket: (options: SocketOptions) => Promise<Duplex> }

/** Opens a client whose sockets are made here, so that they can be ended here: the driver itself only drains them. */
function open(
  events: ConnectionEvents,
  connect: Connect,
  openClient: (listeners: Listeners) => StoreClient,
): OpenedClient {
  let socket: Duplex | undefined
  let isCut = false
  const client = openClient({
    ...listenersOf(events),
    socket: async options => {
      socket = await Promise.resolve(connect(options)).catch((error: unknown) =>
        failingSocket(error instanceof Error ? error : connectionClosed()),
      )
      if (!isCut) return socket
      socket.destroy()
      return failingSocket()
    },
  })
  return {
    client,
    cut: () => {
      isCut = true
      socket?.destroy()
    },
  }
}

const listenersOf = ({ lost, warned }: ConnectionEvents) => ({
  onclose: lost,
  onnotice: ({ severity }: postgres.Notice) => {
    if (severity === "WARNING") warned()
  },
})

/** In force on every connection for the store's work. Warnings are needed, whatever the settings of the user or the database are. */
export const WORKING_SETTINGS: Settings = {
  client_min_messages: "warning",
  statement_timeout: STATEMENT_TIMEOUT_MS,
  lock_timeout: LOCK_TIMEOUT_MS,
  idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
}

/** The settings of a start, which may wait for another process that migrates. Nothing else has set these very values. */
export function startingSettings(): Settings {
  const timeout = (): number => MIGRATION_TIMEOUT_MS + randomInt(1, 1000)
  return {
    client_min_messages: "warning",
    statement_timeout: timeout(),
    lock_timeout: timeout(),
    idle_in_transaction_session_timeout: timeout(),
  }
}

/**
 * Clients of the server at `url`, with settings for as long as a connection lasts.
 * @throws StartupError for text that is no PostgreSQL URL
 */
export const serverClient = (url: string, settings: Settings = WORKING_SETTINGS): OpenClient =>
  clientOf(url, settings, {})

/** Clients of a pooler at `url`. They set nothing when they connect, and no statement has a name: those would outlast a transaction. */
export const pooledClient = (url: string): OpenClient => clientOf(url, {}, { prepare: false })

function clientOf(url: string, settings: Settings, naming: { readonly prepare?: false }): OpenClient {
  const address = readServerAddress(url)
  if (address === undefined) throw new StartupError("The database address is not a postgres:// URL.")
  const connection = { application_name: "runseal", ...settings }
  const options = { ...LASTING, ...naming, connect_timeout: CONNECT_TIMEOUT_SECONDS, connection }
  const openWith = (events: ConnectionEvents, connect: Connect): OpenedClient =>
    open(events, connect, listeners => postgres(address.hosts[0].url, { ...options, ...listeners }))
  if (!asksForPrimary(address)) return events => openWith(events, connectToOnly)
  return leadToPrimary(address.hosts, openWith)
}

type Led = { readonly host: ServerHost; readonly end: () => void }

/**
 * Clients of the host that takes writes. When it is another one than before, the connections to the old host end: the old host may live on,
 * and answer reads from a log that does not grow any more.
 */
function leadToPrimary(
  hosts: readonly ServerHost[],
  openWith: (events: ConnectionEvents, connect: Connect) => OpenedClient,
): OpenClient {
  const choice = createHostChoice(hosts, timelineOf)
  const live = new Set<Led>()
  const find = async (): Promise<ServerHost> => {
    const found = await choice.current()
    for (const one of live) if (one.host !== found) one.end()
    return found
  }
  return events => {
    let own: Led | undefined
    const forget = (): void => {
      if (own !== undefined && live.delete(own)) choice.lost(own.host)
    }
    const lost = (): void => {
      forget()
      events.lost()
    }
    const { client, cut } = openWith({ ...events, lost }, async () => {
      const host = await find()
      own = {
        host,
        end: () => {
          lost()
          cut()
        },
      }
      live.add(own)
      return connectTo(host)
    })
    return {
      client,
      cut: () => {
        forget()
        cut()
        // It gave no answer in time or takes no writes: the others are not to find out one after the other.
        if (live.size > 0) void find().catch(() => undefined)
      },
    }
  }
}

const connectToOnly: Connect = ({ host: [hostname = ""], port: [port = 0], path }) =>
  path ? gathering(connectSocket(path)) : connectTo({ hostname, port })

/** A socket, which buffers writes until it is connected. The driver reads from it which name the certificate must be for. */
const connectTo = ({ hostname: host, port }: Pick<ServerHost, "hostname" | "port">): Socket =>
  Object.assign(gathering(connectSocket({ host, port })), { host, port })

/** Asks a host on a connection of its own for its timeline; undefined when it takes no writes. */
async function timelineOf({ url }: ServerHost): Promise<number | undefined> {
  const pool = createConnectionPool(1, pooledClient(url))
  try {
    return await pool.lease(async ({ client, within }) => {
      const asked = client<{ timeline: number }[]>`select
        case when current_setting('transaction_read_only') = 'off'
          then ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int end as timeline`
      const [found] = await within(CHOICE_TIMEOUT_MS, asked)
      return found?.timeline ?? undefined
    })
  } finally {
    void pool.close()
  }
}

// A socket for the driver, which writes each statement by itself. What is written before the event loop goes on leaves in one system call;
// otherwise each statement of a batch would take one, and the server would wake up for each.

/** The socket, which gathers what is written to it. */
export function gathering(socket: Socket): Socket {
  const { write } = socket
  let gathers = false
  const gather = (...words: Parameters<typeof write>): boolean => {
    if (!gathers) {
      gathers = true
      socket.cork()
      // After all promises that are settled now: statements that are sent together are written by them.
      process.nextTick(() => {
        gathers = false
        socket.uncork()
      })
    }
    return Reflect.apply(write, socket, words)
  }
  return Object.assign(socket, { write: gather })
}

// Several servers of PostgreSQL, one of which takes writes: which one it is, and when to search again.

type HostChoice<Host> = {
  /** The host that takes writes, of several that do the one that was promoted last. Calls at a time share one search. Rejects with the error of a host, or `NO_PRIMARY`. */
  readonly current: () => Promise<Host>
  /** A connection to a host is gone: if that is the current one, the next call searches again. */
  readonly lost: (host: Host) => void
}

/** After a search without success calls are refused for so long, in milliseconds: each search connects to every host. */
const RETRY_AFTER_MS = 250

/**
 * How long a search waits for further hosts once one takes writes, in milliseconds. An old primary may live on that has no right to
 * be one, because what supervises it was suspended: its commits wait for ever, and choosing it again would end nothing.
 */
const OTHERS_WITHIN_MS = 500

/**
 * @param timelineOf connects to a host within a time of its own. Gives the timeline of its write-ahead log, which every promotion raises, or
 * undefined when it takes no writes. Rejects when it is out of reach or refuses
 */
export function createHostChoice<Host>(
  hosts: readonly Host[],
  timelineOf: (host: Host) => Promise<number | undefined>,
): HostChoice<Host> {
  let choice: Promise<Host> | undefined
  let current: Host | undefined

  const search = async (): Promise<Host> => {
    const found: { readonly host: Host; readonly timeline: number }[] = []
    const asking = hosts.map(async host => {
      const timeline = await timelineOf(host)
      if (timeline === undefined) throw noPrimary()
      found.push({ host, timeline })
    })
    try {
      await Promise.any(asking)
      await Promise.race([Promise.allSettled(asking), sleep(OTHERS_WITHIN_MS, undefined, { ref: false })])
      const newest = found.reduce((best, one) => (one.timeline > best.timeline ? one : best))
      current = newest.host
      return current
    } catch (error) {
      setTimeout(() => {
        choice = undefined
      }, RETRY_AFTER_MS).unref()
      throw error instanceof AggregateError ? tellingError(error.errors) : error
    }
  }
  return {
    current: () => {
      choice ??= search()
      return choice
    },
    lost: host => {
      // Neither a search under way nor one that failed a moment ago is repeated.
      if (host !== current) return
      choice = undefined
      current = undefined
    },
  }
}

/** A host that answered says more than one that is out of reach. */
const tellingError = (errors: readonly unknown[]): unknown =>
  errors.find(error => /^(?:NO_PRIMARY|[0-9A-Z]{5})$/.test(driverCode(error) ?? "")) ?? errors[0]
