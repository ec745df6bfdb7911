/**
 * A pooler in front of the server that gives each transaction another connection of the server, such as PgBouncer in transaction mode.
 * Nothing may be set for longer than a transaction, so each begins with the timeouts, and a statement by itself is one too.
 */

/** What differs on connections to such a pooler. */
export type Pooling = {
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
