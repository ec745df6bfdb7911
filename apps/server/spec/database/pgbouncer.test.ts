/** Decision 0150: PgBouncer in front of PostgreSQL, in each of its modes. What the service refuses, and what its transactions are like. */
import { afterAll, describe, expect, onTestFinished, test } from "vitest"
import { pgBouncerAbsence, startPgBouncer } from "../../cluster/pgbouncer.ts"
import { StartupError } from "../../src/options/startup-error.ts"
import { type Database, openDatabase } from "../../src/store/driver/database.ts"
import type { ServerPlace } from "../../src/store/driver/server-start.ts"
import { request } from "../harness/sample-requests.ts"
import { openService } from "../harness/test-service.ts"
import {
  newPostgresUrl,
  poolerIsAbsent,
  poolerTitle,
  postgresStart,
  throughPooler,
  unmigratedPostgresUrl,
} from "./databases.ts"

const SETTINGS = "client_min_messages, statement_timeout, lock_timeout, idle_in_transaction_session_timeout"
const DROPPING = { ignore_startup_parameters: SETTINGS.replaceAll(" ", "") }
const REMEDY =
  "Give --database-pooling transaction if PgBouncer or a similar pooler is there, or the address of PostgreSQL itself."

/** A PgBouncer with settings, in front of the cluster of this run. @returns the URL of a database through it */
async function poolerWith(settings: Readonly<Record<string, string>>, database: string): Promise<string> {
  if (postgresStart.kind === "absent") throw new Error(postgresStart.reason)
  const pooler = await startPgBouncer({ server: postgresStart.url, settings })
  onTestFinished(() => pooler.stop())
  return pooler.through(database)
}

const opened: Database[] = []
afterAll(() => Promise.all(opened.map(db => db.close())))

async function open(place: ServerPlace): Promise<Database> {
  const db = await openDatabase({ kind: "postgres", ...place })
  opened.push(db)
  return db
}

async function refusalOf(place: ServerPlace): Promise<string> {
  const error: unknown = await open(place).catch((thrown: unknown) => thrown)
  if (!(error instanceof StartupError)) throw error
  return error.message.replace(/ at 127\.0\.0\.1:\d+/, "")
}

test("whether PgBouncer is here is known", () => {
  expect(poolerIsAbsent).toBe(postgresStart.kind === "absent" || pgBouncerAbsence() !== undefined)
})

describe.skipIf(poolerIsAbsent)(`a database ${poolerTitle}`, () => {
  test("is refused without the option, also when the pooler only drops the timeouts", async () => {
    const url = await newPostgresUrl()
    expect(await refusalOf({ url: await poolerWith({}, url) })).toBe(
      "PostgreSQL could not be used: unsupported startup parameter: client_min_messages (SQLSTATE 08P01). A pooler such as PgBouncer does not pass on the timeouts that the service sets: give --database-pooling transaction, or the address of PostgreSQL itself.",
    )
    for (const pool_mode of ["transaction", "session"])
      expect(await refusalOf({ url: await poolerWith({ ...DROPPING, pool_mode }, url) })).toBe(
        `PostgreSQL does not apply ${SETTINGS} as the service sets it. ${REMEDY}`,
      )
  })

  test("is refused without the option when the settings of the database happen to be those of the service", async () => {
    const url = await newPostgresUrl()
    const db = await open({ url })
    const [{ name } = { name: "" }] = await db.sql<{ name: string }[]>`select current_database() as name`
    await db.read(({ sql }) => sql`alter database ${sql(name)} set lock_timeout = '7s'`)
    expect(await refusalOf({ url: await poolerWith(DROPPING, url) })).toContain("does not apply")
  })

  test("is refused by a pooler without transactions", async () => {
    const url = await poolerWith({ pool_mode: "statement" }, await newPostgresUrl())
    expect(await refusalOf({ url, pooling: "transaction" })).toMatch(
      /^PostgreSQL refused a transaction( \(SQLSTATE 08P01\))?: the pooler in front of it needs pool_mode transaction\.$/,
    )
  })

  test("is migrated past the pooler only", async () => {
    const [direct, other] = await Promise.all([unmigratedPostgresUrl(), unmigratedPostgresUrl()])
    const url = throughPooler(direct)
    expect(await refusalOf({ url, pooling: "transaction" })).toBe(
      "The database must be brought up to date, which is not done through a pooler: give --database-direct-url, the address of PostgreSQL itself.",
    )
    expect(await refusalOf({ url, pooling: "transaction", directUrl: other })).toBe(
      "--database-direct-url leads to another database than --database-url.",
    )
    const droppingUrl = await poolerWith(DROPPING, direct)
    expect(await refusalOf({ url, pooling: "transaction", directUrl: droppingUrl })).toContain("does not apply")
    await open({ url, pooling: "transaction", directUrl: direct })
    await open({ url, pooling: "transaction" })
  })

  test("has the timeouts in every transaction, read and statement, and afterwards none", async () => {
    const url = await newPostgresUrl()
    const pooled = await poolerWith({ default_pool_size: "1" }, url)
    const db = await open({ url: pooled, pooling: "transaction" })
    const ask = (by: Pick<Database, "read">): Promise<readonly unknown[]> =>
      by.read(
        ({
          sql,
        }) => sql`select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement,
          current_setting('idle_in_transaction_session_timeout') as idle, current_setting('client_min_messages') as level`,
      )
    const set = [{ lock: "7s", statement: "15s", idle: "30s", level: "warning" }]
    expect(await ask(db)).toEqual(set)
    expect(await ask(db.quick)).toEqual(set)
    expect(await db.transaction(ask)).toEqual(set)
    expect(await db.write(ask)).toEqual(set)
    expect(await db.count(ask)).toEqual(set)
    // The one connection of the server, without a transaction around the question.
    const left = await db.read(({ sql }) =>
      sql`rollback`.then(() => sql`select current_setting('lock_timeout') as lock`),
    )
    expect(left).toEqual([{ lock: "0" }])
  })

  test("tells the connections of the server apart, though its own stays the same", async () => {
    const url = await newPostgresUrl()
    const placesWith = async (settings: Readonly<Record<string, string>>) => {
      const db = await open({ url: await poolerWith(settings, url), pooling: "transaction" })
      const place = () =>
        db.transaction(async ({ connection, sql }) => {
          const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
          return { connection, pid: row?.pid ?? 0 }
        })
      return [await place(), await place()] as const
    }
    const [one, same] = await placesWith({ default_pool_size: "1" })
    expect(same).toEqual(one)
    expect(same.connection).toBe(one.connection)
    // Each transaction on a connection of its own.
    const [first, next] = await placesWith({ server_lifetime: "0" })
    expect(next.pid).not.toBe(first.pid)
    expect(next.connection).not.toBe(first.connection)
  })

  test("serves many runs at a time on two connections of the server, and no statement has a name there", async () => {
    const url = await newPostgresUrl()
    const pooled = await poolerWith({ default_pool_size: "2" }, url)
    const service = await openService({
      open: () => openDatabase({ kind: "postgres", url: pooled, pooling: "transaction" }),
    })
    onTestFinished(() => service.close())
    const answers = await Promise.all(Array.from({ length: 60 }, () => service.execute(request())))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const named = await service.db.sql`select name from pg_prepared_statements`
    expect(named).toEqual([])
    expect((await service.get("/ready")).status).toBe(200)
    expect((await service.get("/runs/60/artifacts")).status).toBe(200)
    expect((await service.get("/runs/export")).text.split("\n").length).toBeGreaterThan(60)
  })
})
