/** The postgres.js clients: one for the embedded database, one for a PostgreSQL server. Neither logs what it sends. */
import type { Duplex } from "node:stream"
import postgres from "postgres"
import { StartupError } from "../startup-error.ts"
import type { OpenClient } from "./connection-pool.ts"
import { driverCode, isConnectionFailure } from "./errors.ts"
import { int8, type StoreClient } from "./session.ts"

/** Connections of one process: the sealer and the budget ledger hold one each while they commit, the rest serve reads. */
export const SERVER_CONNECTIONS = 8
const CONNECT_TIMEOUT_SECONDS = 10
/** The server cancels a statement that runs longer. */
const STATEMENT_TIMEOUT_MS = 15_000
/** Longest wait for a row another process has locked. */
const LOCK_TIMEOUT_MS = 10_000
/** After this the server ends a transaction whose client has fallen silent, and its locks with it. */
const IDLE_TRANSACTION_TIMEOUT_MS = 30_000
/** Longest wait for another process that is migrating the same database. */
const MIGRATION_TIMEOUT_MS = 300_000
const OLDEST_POSTGRES_MAJOR = 13

/** One connection that stays open and tells nobody what it sends. */
const LASTING = {
  max: 1,
  idle_timeout: 0,
  max_lifetime: 0,
  types: { bigint: int8 },
  fetch_types: false,
  onnotice: () => {},
  debug: false,
}

/** Clients of the embedded database. They have no timeouts: those need signals, which that database has not. */
export function pgliteClient(connect: () => Duplex): OpenClient {
  const address = { host: "localhost", user: "postgres", database: "postgres", ssl: false }
  const options = { ...LASTING, ...address, socket: connect }
  return lost => postgres({ ...options, onclose: lost })
}

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
  return lost => {
    try {
      if (!/^postgres(ql)?:\/\//.test(url)) throw new TypeError("another scheme")
      const connection = { application_name: "runseal", ...bounds }
      return postgres(url, { ...LASTING, connect_timeout: CONNECT_TIMEOUT_SECONDS, onclose: lost, connection })
    } catch {
      throw new StartupError("The database address is not a postgres:// URL.")
    }
  }
}

/**
 * Connects and checks that the server will do; a server that may lose commits is logged, not refused.
 * @throws StartupError in one sentence that names neither user nor password
 */
export async function checkServer(sql: StoreClient, log: (sentence: string) => void): Promise<void> {
  const { host, port } = sql.options
  const at = `PostgreSQL at ${host.join(",")}:${port.join(",")}`
  const [server] = await sql<{ version: number; encoding: string; fsync: string; commit: string }[]>`
    select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
      current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`.catch(error => {
    throw new StartupError(refusal(at, error))
  })
  if (server === undefined) throw new StartupError(`${at} gave no answer.`)
  const major = Math.floor(server.version / 10_000)
  if (major < OLDEST_POSTGRES_MAJOR) {
    throw new StartupError(`${at} is version ${major}; ${OLDEST_POSTGRES_MAJOR} or later is needed.`)
  }
  if (server.encoding !== "UTF8") throw new StartupError(`The database of ${at} is not encoded in UTF8.`)
  if (server.fsync !== "on" || server.commit === "off") {
    log(`${at} acknowledges commits that a crash may lose: turn fsync and synchronous_commit on.`)
  }
}

/** SQLSTATEs of a refused connection, PostgreSQL documentation "Error Codes". */
const REFUSALS: Readonly<Record<string, string>> = {
  "28P01": "refused the user name or password",
  "28000": "refused the user",
  "3D000": "has no database of the given name",
  "53300": "has no connection left",
  "57P03": "is not ready to accept connections",
}

function refusal(at: string, error: unknown): string {
  const code = driverCode(error) ?? ""
  if (REFUSALS[code] !== undefined) return `${at} ${REFUSALS[code]}.`
  return isConnectionFailure(error) ? `${at} could not be reached.` : `${at} could not be used.`
}
