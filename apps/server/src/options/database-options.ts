/** The options of the PostgreSQL server, and of a pooler in front of it. */
import * as v from "valibot"
import { StartupError } from "./startup-error.ts"
import { DATABASE_URL, option, READ_URL } from "./values.ts"

const POOLING = ["off", "transaction"] as const

export const DATABASE_OPTIONS = {
  databaseUrl: option(
    "--database-url <url>",
    "`postgres://` address, with [several hosts](#several-hosts) if need be; without it the embedded database is used",
    v.optional(DATABASE_URL),
  ),
  databasePooling: option(
    "--database-pooling <mode>",
    "how a [pooler](#a-pooler-in-front-of-postgresql) behind `--database-url`, such as PgBouncer, shares out the connections of PostgreSQL; `off` if there is none",
    v.optional(v.picklist(POOLING), "off"),
    { choices: POOLING },
  ),
  databaseDirectUrl: option(
    "--database-direct-url <url>",
    "address of PostgreSQL itself, past the pooler, on which a start migrates the database",
    v.optional(DATABASE_URL),
  ),
  databaseReadUrl: option(
    "--database-read-url <url>",
    "address of a [standby](#a-read-standby) of PostgreSQL, on which lists, records and full tiles are read",
    v.optional(READ_URL),
    { otherwise: "they are read on the primary" },
  ),
}

/** The server that `--database-url` leads to, and how it is reached. */
export type DatabaseServer = {
  readonly url: string
  readonly pooling: "transaction" | undefined
  readonly directUrl: string | undefined
  readonly readUrl: string | undefined
}

type Given = {
  readonly databaseUrl?: string | undefined
  readonly databasePooling: (typeof POOLING)[number]
  readonly databaseDirectUrl?: string | undefined
  readonly databaseReadUrl?: string | undefined
}

/** Undefined for the embedded database. @throws StartupError for options that contradict each other */
export function databaseServerOf({
  databaseUrl: url,
  databasePooling,
  databaseDirectUrl: directUrl,
  databaseReadUrl: readUrl,
}: Given): DatabaseServer | undefined {
  const pooling = databasePooling === "off" ? undefined : databasePooling
  if (url === undefined && pooling !== undefined) throw new StartupError("--database-pooling needs --database-url")
  if (url === undefined && readUrl !== undefined) throw new StartupError("--database-read-url needs --database-url")
  if (pooling === undefined && directUrl !== undefined)
    throw new StartupError("--database-direct-url needs --database-pooling transaction")
  return url === undefined ? undefined : { url, pooling, directUrl, readUrl }
}
