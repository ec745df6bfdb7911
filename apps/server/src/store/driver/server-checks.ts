/** What a PostgreSQL server, and a pooler in front of it, must be like to be used. */
import { StartupError } from "../../options/startup-error.ts"
import type { Connection } from "./connection-pool.ts"
import type { Settings } from "./pooling.ts"
import { refusalSentence } from "./server-refusal.ts"
import type { StoreClient } from "./session.ts"
import { StoreError } from "./store-errors.ts"
import { runRead } from "./transaction.ts"

const OLDEST_POSTGRES_MAJOR = 13

/** A line for the operator. */
export type Log = (sentence: string) => void

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
export async function checkServer({ client: sql, at }: Checked, log: Log): Promise<void> {
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
