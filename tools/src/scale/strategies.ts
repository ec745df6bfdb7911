/** Ways to keep order among servers. */

export type Strategy = {
  readonly name: string
  /** Logs, each with a head of its own; an owner's runs all go into one of them. */
  readonly logs: number
  /** PostgreSQL servers, each with a share of the logs. */
  readonly databases: number
  /** Whether a record is built while the log's head is locked, or before and only moved to its place under the lock. */
  readonly build: "under the lock" | "before the lock"
}

export const TODAY: Strategy = { name: "one log, built under its lock", logs: 1, databases: 1, build: "under the lock" }

export const STRATEGIES: readonly Strategy[] = [
  TODAY,
  { name: "one log, built before the lock", logs: 1, databases: 1, build: "before the lock" },
  { name: "4 logs on one PostgreSQL", logs: 4, databases: 1, build: "under the lock" },
  { name: "4 shards, each with a log and a PostgreSQL", logs: 4, databases: 4, build: "under the lock" },
  { name: "16 shards, each with a log and a PostgreSQL", logs: 16, databases: 16, build: "under the lock" },
]
