/** The start on a PostgreSQL server: connects, checks that the server will do and what is in front of it, and migrates. */
import { readServerAddress } from "../../options/server-address.ts"
import { type ConnectionPool, createConnectionPool, createPooling, type StoreClient } from "./connection-pool.ts"
import { migrateDatabase, refuseOutdated, refuseUnmigrated } from "./migrate.ts"
import {
  ANSWER_BOUNDS,
  pooledClient,
  SERVER_CONNECTIONS,
  STANDBY_BOUNDS,
  serverClient,
  startingSettings,
  WORKING_SETTINGS,
} from "./postgres-client.ts"
import { checkPooler, checkServer, endStalledSessions, type Notice, refusePooler } from "./server-checks.ts"

/** Where the server is, and how it is reached. */
export type ServerPlace = {
  readonly url: string
  /** Present when a pooler is behind `url` that gives each transaction another connection of the server. */
  readonly pooling?: "transaction" | undefined
  /** Leads to the server itself, past the pooler, for migrations. */
  readonly directUrl?: string | undefined
}

/** What is done where there is no deployment yet: a start makes one, a command that reads or changes one is refused. */
export type IfMissing = "make" | "refuse"

/**
 * Migrates the database and opens the pool of connections for the store's work.
 * @throws StartupError in one sentence that names neither user nor password
 */
export async function openServerPool(place: ServerPlace, log: Notice, ifMissing: IfMissing): Promise<ConnectionPool> {
  const { url, pooling, directUrl } = place
  if (pooling === undefined) {
    await prepareServer(url, log, ifMissing)
    return createConnectionPool(SERVER_CONNECTIONS, serverClient(url), ANSWER_BOUNDS)
  }
  if (directUrl !== undefined) await prepareServer(directUrl, log, ifMissing)
  const pool = createConnectionPool(
    SERVER_CONNECTIONS,
    pooledClient(url),
    ANSWER_BOUNDS,
    createPooling(WORKING_SETTINGS),
  )
  try {
    await pool.lease(async connection => {
      const { client } = connection
      const at = nameOf(url, client)
      await checkServer({ client, at }, log)
      await checkPooler(connection, at, WORKING_SETTINGS)
      await endStalledSessions(client).catch(() => undefined)
      if (ifMissing === "refuse") await refuseUnmigrated(client)
      await refuseOutdated(client, directUrl !== undefined)
    })
    return pool
  } catch (error) {
    await pool.close()
    throw error
  }
}

/** A pool of connections to a standby, for reads alone. Nothing is asked of it before the first of them. */
export const openStandbyPool = ({ url, pooling }: ServerPlace): ConnectionPool =>
  pooling === undefined
    ? createConnectionPool(SERVER_CONNECTIONS, serverClient(url), STANDBY_BOUNDS)
    : createConnectionPool(SERVER_CONNECTIONS, pooledClient(url), STANDBY_BOUNDS, createPooling(WORKING_SETTINGS))

async function prepareServer(url: string, log: Notice, ifMissing: IfMissing): Promise<void> {
  const settings = startingSettings()
  const start = createConnectionPool(1, serverClient(url, settings))
  try {
    await start.lease(async connection => {
      const checked = { client: connection.client, at: nameOf(url, connection.client) }
      await checkServer(checked, log)
      await refusePooler(checked, settings)
      if (ifMissing === "refuse") await refuseUnmigrated(connection.client)
      await endStalledSessions(connection.client).catch(() => undefined)
      await migrateDatabase(connection)
    })
  } finally {
    await start.close()
  }
}

/** Where a client leads, for the operator. */
function nameOf(url: string, { options: { host, port } }: StoreClient): string {
  const hosts = readServerAddress(url)?.hosts ?? []
  return `PostgreSQL at ${hosts.length > 1 ? hosts.map(({ name }) => name).join(",") : `${host[0]}:${port[0]}`}`
}
