/** The postgres.js clients: one for the embedded database, one for a PostgreSQL server. Neither logs what it sends. */
import { connect as connectSocket, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import postgres from "postgres"
import { StartupError } from "../../options/startup-error.ts"
import type { AnswerBounds, ConnectionEvents, OpenClient, OpenedClient } from "./connection-pool.ts"
import { refusalSentence } from "./server-refusal.ts"
import { int8, type StoreClient } from "./session.ts"

/** Connections of one process: the sealer and the budget ledger hold one each while they commit, the rest serve reads. */
export const SERVER_CONNECTIONS = 8
const CONNECT_TIMEOUT_SECONDS = 10
/** The server cancels a statement that runs longer. */
const STATEMENT_TIMEOUT_MS = 15_000
/** Longest wait for a row another process has locked: several servers under load wait for each other's batches. */
const LOCK_TIMEOUT_MS = 7_000
/** After this the server ends a transaction whose client sends nothing more, and releases its locks. */
const IDLE_TRANSACTION_TIMEOUT_MS = 30_000
/** Longest wait for another process that is migrating the same database. */
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
const OLDEST_POSTGRES_MAJOR = 13

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

type Listeners = ReturnType<typeof listenersOf> & { readonly socket: (options: SocketOptions) => Duplex }
type SocketOptions = Pick<postgres.ParsedOptions, "host" | "port" | "path">

/** Opens a client whose sockets are made here, so that they can be ended here: the driver itself only drains them. */
function open(
  events: ConnectionEvents,
  connect: (options: SocketOptions) => Duplex,
  openClient: (listeners: Listeners) => StoreClient,
): OpenedClient {
  let socket: Duplex | undefined
  const client = openClient({
    ...listenersOf(events),
    socket: options => {
      socket = connect(options)
      return socket
    },
  })
  return { client, cut: () => void socket?.destroy() }
}

const listenersOf = ({ lost, warned }: ConnectionEvents) => ({
  onclose: lost,
  onnotice: ({ severity }: postgres.Notice) => {
    if (severity === "WARNING") warned()
  },
})

/** Clients of the server at `url` for the store's work. */
export function serverClient(url: string): OpenClient {
  return clientOf(url, {
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
  })
}

/**
 * Clients of the server at `url` for the start.
 * @throws StartupError when opened for text that is no PostgreSQL URL
 */
export function startingClient(url: string): OpenClient {
  return clientOf(url, { statement_timeout: MIGRATION_TIMEOUT_MS })
}

function clientOf(url: string, bounds: Readonly<Record<string, number>>): OpenClient {
  return events => {
    try {
      if (!/^postgres(ql)?:\/\//.test(url)) throw new TypeError("another scheme")
      // Warnings are needed, whatever the settings of the user or the database are.
      const connection = { application_name: "runseal", client_min_messages: "warning", ...bounds }
      const options = { ...LASTING, connect_timeout: CONNECT_TIMEOUT_SECONDS, connection }
      return open(events, serverSockets(), listeners => postgres(url, { ...options, ...listeners }))
    } catch {
      throw new StartupError("The database address is not a postgres:// URL.")
    }
  }
}

type ServerSettings = {
  readonly version: number
  readonly encoding: string
  readonly fsync: string
  readonly commit: string
  readonly standbys: string
}

/** Levels of synchronous_commit that do not wait until a standby has the commit on its disk. */
const UNREPLICATED: ReadonlySet<string> = new Set(["local", "remote_write"])

/** Sockets to a server, which buffer writes until they are connected; several hosts are tried one after the other. */
function serverSockets(): (options: SocketOptions) => Socket {
  let attempts = 0
  return ({ host, port, path }) => {
    if (path) return connectSocket(path)
    const at = attempts++ % host.length
    const address = { host: host[at] ?? "", port: port[at] ?? 0 }
    // The driver reads from its socket which name the certificate must be for.
    return Object.assign(connectSocket(address), address)
  }
}

/**
 * Connects and checks that the server will do; a server that may lose commits is logged, not refused.
 * @throws StartupError in one sentence that names neither user nor password
 */
export async function checkServer(sql: StoreClient, log: (sentence: string) => void): Promise<void> {
  const { host, port } = sql.options
  const at = `PostgreSQL at ${host.join(",")}:${port.join(",")}`
  const [server] = await sql<ServerSettings[]>`
    select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
      current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
      current_setting('synchronous_standby_names') as standbys`.catch(error => {
    throw new StartupError(refusalSentence(at, error, sql.options))
  })
  if (server === undefined) throw new StartupError(`${at} gave no answer.`)
  const major = Math.floor(server.version / 10_000)
  if (major < OLDEST_POSTGRES_MAJOR) {
    throw new StartupError(`${at} is version ${major}; ${OLDEST_POSTGRES_MAJOR} or later is needed.`)
  }
  if (server.encoding !== "UTF8") throw new StartupError(`The database of ${at} is not encoded in UTF8.`)
  if (server.fsync !== "on" || server.commit === "off") {
    log(`${at} acknowledges commits that a crash may lose: set fsync and synchronous_commit to on.`)
  } else if (server.standbys !== "" && UNREPLICATED.has(server.commit)) {
    log(
      `${at} acknowledges commits that a failover may lose: it has synchronous_standby_names, but synchronous_commit is ${server.commit}; set it to on.`,
    )
  }
}
