/** Ways to keep order among servers. */

export type Strategy = {
  readonly name: string
  /** Logs, each with a head of its own; an owner's runs all go into one of them. */
  readonly logs: number
  /** PostgreSQL servers, each with a share of the logs. */
  readonly databases: number
  readonly build: Build
}

/**
 * Where a batch is built: while the log's head is locked; ahead, which is while the batch before it is verified and written, as long
 * as no other server is found to write to the log, and under the lock otherwise; or before the lock in any case, to be moved to its
 * place under it.
 */
export type Build = "under its lock" | "ahead while alone" | "before the lock"

/** What the sealer does. */
const BUILT: Build = "under its lock"

export const TODAY: Strategy = { name: `one log, built ${BUILT}`, logs: 1, databases: 1, build: BUILT }

export const STRATEGIES: readonly Strategy[] = [
  TODAY,
  { name: "one log, built before the lock", logs: 1, databases: 1, build: "before the lock" },
  { name: "4 logs on one PostgreSQL", logs: 4, databases: 1, build: BUILT },
  { name: "4 shards, each with a log and a PostgreSQL", logs: 4, databases: 4, build: BUILT },
  { name: "16 shards, each with a log and a PostgreSQL", logs: 16, databases: 16, build: BUILT },
]
