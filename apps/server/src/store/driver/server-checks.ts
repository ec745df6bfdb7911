/** What a PostgreSQL server, and a pooler in front of it, must be like to be used; and the end of sessions whose client is gone. */
import { StartupError } from "../../options/startup-error.ts"
import type { Connection, Settings, StoreClient } from "./connection-pool.ts"
import { runRead, type Session } from "./session.ts"
import { driverCode, isConnectionFailure, StoreError } from "./store-errors.ts"

const OLDEST_POSTGRES_MAJOR = 13

/** A line for the operator. */
export type Notice = (sentence: string) => void

/** A client, and where it leads, for the operator. */
export type Checked = { readonly client: StoreClient; readonly at: string }

type ServerSettings = {
  readonly version: number
  readonly encoding: string
  readonly fsync: string
  readonly commit: string
  readonly standbys: string
}

/** Levels of synchronous_commit that do not wait until a standby has the commit on its disk. */
const UNREPLICATED: ReadonlySet<string> = new Set(["local", "remote_write"])

/**
 * Connects and checks that the server will do; a server that may lose commits is logged, not refused.
 * @throws StartupError in one sentence that names neither user nor password
 */
export async function checkServer({ client: sql, at }: Checked, log: Notice): Promise<void> {
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

const REMEDY =
  "Give --database-pooling transaction if PgBouncer or a similar pooler is there, or the address of PostgreSQL itself."

/**
 * A pooler drops settings that it is configured to ignore, and answers with a process id of its own making.
 * @param settings that were sent with the connection, of values that nothing else has set
 * @throws StartupError when there is one
 */
export async function refusePooler({ client, at }: Checked, settings: Settings): Promise<void> {
  const dropped = await droppedSettings(client, settings)
  if (dropped.length > 0)
    throw new StartupError(`${at} does not apply ${dropped.join(", ")} as the service sets it. ${REMEDY}`)
  const answer = await client<{ pid: number }[]>`select pg_backend_pid() as pid`
  if (answer[0]?.pid !== answer.state.pid)
    throw new StartupError(`A pooler is in front of ${at}, and statements could get mixed up. ${REMEDY}`)
}

/**
 * @param settings that each transaction begins with
 * @throws StartupError when they are not in force in one, or a transaction is refused
 */
export async function checkPooler(connection: Connection, at: string, settings: Settings): Promise<void> {
  const dropped = await runRead(connection, connection.bounds.read, ({ sql }) => droppedSettings(sql, settings)).catch(
    (error: unknown) => {
      if (!(error instanceof StoreError)) throw error
      const state = error.sqlstate === undefined ? "" : ` (SQLSTATE ${error.sqlstate})`
      throw new StartupError(
        `${at} refused a transaction${state}: the pooler in front of it needs pool_mode transaction.`,
      )
    },
  )
  if (dropped.length > 0)
    throw new StartupError(
      `${at} does not apply ${dropped.join(", ")} within a transaction: the pooler in front of it drops SET LOCAL. Use PgBouncer in transaction mode, or PostgreSQL itself.`,
    )
}

async function droppedSettings(sql: Pick<StoreClient, "unsafe">, settings: Settings): Promise<readonly string[]> {
  const found = await sql.unsafe<{ name: string; setting: string }[]>("select name, setting from pg_settings")
  const inForce = new Map(found.map(({ name, setting }) => [name, setting]))
  return Object.entries(settings).flatMap(([name, value]) => (inForce.get(name) === `${value}` ? [] : [name]))
}

// Why the first connection to PostgreSQL failed, in a sentence for the operator.

/** SQLSTATEs of a refused connection, PostgreSQL documentation "Error Codes". */
const REFUSALS: Readonly<Record<string, string>> = {
  "28P01": "refused the user name or password",
  "28000": "refused the user",
  "3D000": "has no database of the given name",
  "53300": "has no connection left",
  "57P03": "is not ready to accept connections",
}

const SQLSTATE = /^[0-9A-Z]{5}$/
/** Of a text of the server, in characters: its reasons are shorter. */
const MAX_REASON = 200
/** A shorter user name or password is masked in quotes only: it may be part of any word. */
const MASKED_EVERYWHERE = 4

/**
 * The sentence holds the server's own reason, which only PostgreSQL knows: a missing line in pg_hba.conf, a parameter that a pooler refuses.
 * It is printed to the operator and never logged or sent to a caller.
 * @param login user and password of the connection, which are masked in the reason
 */
function refusalSentence(
  at: string,
  error: unknown,
  login: { readonly user: unknown; readonly pass: unknown },
): string {
  const code = driverCode(error) ?? ""
  if (code === "NO_PRIMARY") return `${at}: no server takes writes.`
  if (isConnectionFailure(error)) return `${at} could not be reached (${code}).`
  if (!(error instanceof Error) || !SQLSTATE.test(code)) {
    const reason = /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? ` (${code})` : ""
    return `${at} could not be used${reason}.`
  }
  const reason = `${oneLine(masked(error.message, [login.user, login.pass]))} (SQLSTATE ${code}).`
  const pooler = /startup parameter/.test(error.message) ? ` ${POOLER}` : ""
  return `${at} ${REFUSALS[code] ?? "could not be used"}: ${reason}${pooler}`
}

const POOLER =
  "A pooler such as PgBouncer does not pass on the timeouts that the service sets: give --database-pooling transaction, or the address of PostgreSQL itself."

const masked = (text: string, names: readonly unknown[]): string =>
  names
    .filter(name => typeof name === "string" && name !== "")
    .reduce<string>((left, name) => {
      const quoted = left.replaceAll(`"${name}"`, '"…"')
      return `${name}`.length < MASKED_EVERYWHERE ? quoted : quoted.replaceAll(`${name}`, "…")
    }, text)

/** Without control characters, which could act on a terminal. */
const oneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .slice(0, MAX_REASON)
    .trim()

// Sessions of this service whose client stopped in the middle of a statement, such as one of a process that was suspended.

/** A session is ended after this time in the middle of a statement, in milliseconds: a client that runs waits no longer than 8 s for an answer. */
const STALLED_MS = 20_000

/**
 * Ends them: `idle_in_transaction_session_timeout` counts between statements only, and `statement_timeout` not while the server waits
 * for the client, so that such a session would hold its locks for ever. Decision 0113.
 * Rejects where this user may not end sessions. A caller ignores that outside of its session: the pool has to see a connection that is lost.
 */
export const endStalledSessions = async (sql: Pick<Session["sql"], "unsafe">): Promise<void> =>
  void (await sql.unsafe(END_STALLED))

const END_STALLED = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and usename = current_user
    and application_name = current_setting('application_name') and state = 'active' and wait_event = 'ClientRead'
    and state_change < clock_timestamp() - ${STALLED_MS} * interval '1 ms'`
