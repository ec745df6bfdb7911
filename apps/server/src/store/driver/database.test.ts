import { setTimeout } from "node:timers/promises"
import { inspect } from "node:util"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { GUARDED_USER } from "../../../cluster/postgres-cluster.ts"
import { startCuttingProxy } from "../../../spec/database/cutting-proxy.ts"
import {
  bothAndPooled,
  newPostgresUrl,
  postgresStart,
  postgresTitle,
  unmigratedPostgresUrl,
} from "../../../spec/database/databases.ts"
import { StartupError } from "../../options/startup-error.ts"
import { readWindow } from "../tables/tenant-windows.ts"
import { lockTenants } from "../tables/tenants.ts"
import { createConnectionPool, MAX_WAITING_LEASES } from "./connection-pool.ts"
import { type Database, openDatabase } from "./database.ts"
import { knownMigrations, migrateDatabase } from "./migrate.ts"
import { serverClient } from "./postgres-client.ts"
import { sentTogether } from "./session.ts"
import { StoreError } from "./store-errors.ts"

const key = { tenant_id: "t", window_seconds: 60, window_start: 0 }

bothAndPooled("a database", open => {
  let db: Database
  beforeAll(async () => {
    db = await open()
    await db.sql`create table scratch (a bigint primary key, b text)`
  })

  test("commits what a transaction did and gives its result", async () => {
    const result = await db.transaction(async ({ sql }) => {
      await sql`insert into scratch values (1, 'stored')`
      return ["any", { result: true }]
    })
    expect(result).toEqual(["any", { result: true }])
    expect(await db.sql`select b from scratch where a = 1`).toEqual([{ b: "stored" }])
  })

  test("undoes a transaction that fails, and throws what its work threw", async () => {
    class Mine extends Error {}
    const failing = db.transaction(async ({ sql }) => {
      await sql`insert into scratch values (2, 'undone')`
      throw new Mine("mine")
    })
    await expect(failing).rejects.toBeInstanceOf(Mine)
    expect(await db.sql`select b from scratch where a = 2`).toEqual([])
  })

  test("undoes a transaction whose work ignored a failed statement", async () => {
    const ignoring = db.transaction(async ({ sql }) => {
      await sql`insert into scratch values (3, 'undone')`
      await sql`select 1 / 0`.catch(() => {})
    })
    await expect(ignoring).rejects.toMatchObject({ code: "rolled_back" })
    expect(await db.sql`select b from scratch where a = 3`).toEqual([])
  })

  test("sends the first statements of a transaction together with BEGIN, and they are part of it", async () => {
    const from = (a: number, fails: boolean) =>
      db.transactionFrom(
        async ({ sql }) => {
          const [one, two] = await Promise.all([
            sql`insert into scratch values (${a}, 'first')`,
            sql<{ b: string }[]>`select b from scratch where a = ${a}`,
          ])
          return [one.count, two[0]?.b]
        },
        async ({ sql }, first) => {
          await sql`update scratch set b = b || ' second' where a = ${a}`
          if (fails) throw new Error("given up")
          return first
        },
      )
    expect(await from(40, false)).toEqual([1, "first"])
    await expect(from(41, true)).rejects.toThrow("given up")
    expect(await db.sql`select a, b from scratch where a in (40, 41)`).toEqual([{ a: 40, b: "first second" }])
  })

  test("ends a transaction whose first statements fail, and does nothing more", async () => {
    let worked = false
    const failing = db.transactionFrom(
      ({ sql }) => Promise.all([sql`insert into scratch values (42, '')`, sql`select 1 / 0`, sql`select 1`]),
      async () => {
        worked = true
      },
    )
    await expect(failing).rejects.toMatchObject({ sqlstate: "22012" })
    expect(worked).toBe(false)
    expect(await db.sql`select a from scratch where a = 42`).toEqual([])
  })

  test("of statements sent together throws what the first failed with, not what followed from it", async () => {
    const sent = async (statement: PromiseLike<unknown>): Promise<void> => {
      await statement
    }
    // A caller who awaits more sees its failure later, though it came first.
    const failing = db.transaction(({ sql }) =>
      sentTogether([sent(sql`select 1`), sent(sent(sql`select 1 / 0`)), sent(sql`select 1`), sent(sql`select 1`)]),
    )
    await expect(failing).rejects.toMatchObject({ sqlstate: "22012" })
    expect(await db.transaction(({ sql }) => sentTogether([sql`select 1 as a`, Promise.resolve("two")]))).toEqual([
      [{ a: 1 }],
      "two",
    ])
  })

  test("a statement that writes by itself is done whole or not at all", async () => {
    const write = (a: number, divisor: number) =>
      db.write(
        ({ sql }) => sql<{ a: number }[]>`
          with made as (insert into scratch values (${a}, '') returning a)
          select a / ${divisor}::bigint as a from made`,
      )
    expect(await write(43, 1)).toEqual([{ a: 43 }])
    await expect(write(44, 0)).rejects.toMatchObject({ code: "rolled_back", sqlstate: "22012" })
    await expect(write(43, 1)).rejects.toMatchObject({ code: "conflict" })
    expect(await db.sql`select a from scratch where a in (43, 44)`).toEqual([{ a: 43 }])
  })

  test("takes any warning at a commit for an unknown outcome, and goes on with another connection", async () => {
    await db.sql`create function warn() returns trigger language plpgsql as $$ begin raise warning 'hm'; return null; end $$`
    await db.sql`create table warned (a bigint)`
    await db.sql`create constraint trigger warn after insert on warned initially deferred
      for each row execute function warn()`
    const known = { name: "StoreError", code: "outcome_unknown" }
    await expect(db.transaction(({ sql }) => sql`insert into warned values (1)`)).rejects.toMatchObject(known)
    await expect(db.write(({ sql }) => sql`insert into warned values (2)`)).rejects.toMatchObject(known)
    await expect(db.count(({ sql }) => sql`insert into warned values (3)`)).rejects.toMatchObject({
      code: "unavailable",
    })
    expect(await db.transaction(({ sql }) => sql`select 1 as one`)).toEqual([{ one: 1 }])
    // One before the commit says nothing of it.
    await db.transaction(({ sql }) => sql`do $$ begin raise warning 'hm'; end $$`)
  })

  test("names a unique violation a conflict and leaves no SQL, parameter or row in the error", async () => {
    const secret = "hunter2"
    await db.sql`insert into scratch values (4, ${secret})`
    const error: unknown = await db
      .transaction(({ sql }) => sql`insert into scratch values (4, ${secret})`)
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({ code: "conflict", sqlstate: "23505" })
    expect(inspect(error, { showHidden: true, depth: 9 })).not.toMatch(/hunter2|insert into|scratch/)
  })

  test("leaves no SQL in the error of a read", async () => {
    await db.sql`alter table tenant_window rename to hidden`
    const error: unknown = await readWindow(db, key).catch((thrown: unknown) => thrown)
    await db.sql`alter table hidden rename to tenant_window`
    expect(error).toMatchObject({ name: "StoreError", code: "rolled_back" })
    expect(inspect(error, { showHidden: true, depth: 9 })).not.toMatch(/select|tenant_window/)
  })

  test("answers 300 statements at once, each with its own answer or error", async () => {
    const settled = await Promise.allSettled(
      Array.from({ length: 300 }, (_, at) => db.sql`select ${at}::bigint as at, ${10}::int / ${at % 7}::int as share`),
    )
    for (const [at, result] of settled.entries()) {
      if (at % 7 === 0) expect(result.status).toBe("rejected")
      else expect(result).toMatchObject({ value: [{ at, share: Math.trunc(10 / (at % 7)) }] })
    }
  })

  test("keeps transactions that run at once apart", async () => {
    await db.sql`insert into scratch values (5, '')`
    const append = (letter: string) =>
      db.transaction(async ({ sql }) => {
        const [row] = await sql<{ b: string }[]>`select b from scratch where a = 5 for update`
        await sql`update scratch set b = ${row?.b + letter} where a = 5`
      })
    await Promise.all([..."abcdefgh"].map(append))
    const [row] = await db.sql<{ b: string }[]>`select b from scratch where a = 5`
    expect([...(row?.b ?? "")].sort().join("")).toBe("abcdefgh")
  })

  test("keeps transactions of large statements apart, also from large statements by themselves", async () => {
    const text = "x".repeat(2_000_000)
    const mixed = Array.from({ length: 12 }, (_, at) =>
      at % 3 === 0
        ? db.sql`insert into scratch values (${20 + at}, ${text})`
        : db.transaction(async ({ sql }) => {
            await sql`insert into scratch values (${20 + at}, ${text})`
            if (at % 3 === 1) throw new Error("undone")
          }),
    )
    await Promise.allSettled(mixed)
    const rows = await db.sql<{ a: number }[]>`select a from scratch where a between 20 and 31 order by a`
    expect(rows.map(({ a }) => a)).toEqual([20, 22, 23, 25, 26, 28, 29, 31])
  })

  test("takes texts of megabytes in and gives them back", async () => {
    const text = "ü€😀\n".repeat(200_000)
    await db.sql`insert into scratch values (6, ${text})`
    const [row] = await db.sql<{ b: string }[]>`select b from scratch where a = 6`
    expect(row?.b === text).toBe(true)
  })

  test("refuses work at once when too much waits for a connection, and does what waits", async () => {
    const asked = Array.from({ length: MAX_WAITING_LEASES + 100 }, () => db.sql`select 1 as one`)
    const settled = await Promise.allSettled(asked)
    const refused = settled.filter(result => result.status === "rejected")
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.length).toBeLessThan(100)
    expect(refused.every(({ reason }) => reason instanceof StoreError && reason.code === "unavailable")).toBe(true)
  })

  test("refuses a statement that outlives its transaction", async () => {
    const outlived = await db.transaction(async tx => ({ tx }))
    await expect(async () => outlived.tx.sql`insert into scratch values (7, '')`).rejects.toThrow(TypeError)
    const failing = db.transaction(async tx => {
      await Promise.all([tx.sql`select 1 / 0`, tx.sql`select 1`.then(() => tx.sql`select pg_sleep(0)`)])
    })
    await expect(failing).rejects.toMatchObject({ sqlstate: "22012" })
    expect(await db.sql`select b from scratch where a = 7`).toEqual([])
  })

  test("is closed for good", async () => {
    const closing = await open()
    await closing.close()
    await expect(closing.sql`select 1`).rejects.toMatchObject({ code: "unavailable" })
  })
})

describe.skipIf(postgresStart.kind === "absent")(`a PostgreSQL server ${postgresTitle}`, () => {
  const open = (url: string): Promise<Database> => openDatabase({ kind: "postgres", url })

  test("is migrated once by processes that start at the same time", async () => {
    const url = await unmigratedPostgresUrl()
    const handles = await Promise.all(Array.from({ length: 4 }, () => open(url)))
    const steps = await handles[0]!.sql<{ step: number }[]>`select step from migration order by step`
    expect(steps.map(({ step }) => step)).toEqual(knownMigrations().map((_, step) => step))
    await Promise.all(handles.map(handle => handle.close()))
  })

  test("with a database of a newer release, or of other migrations, is refused", async () => {
    const url = await newPostgresUrl()
    const db = await open(url)
    await db.sql`insert into migration values (1000, 'later')`
    await expect(open(url)).rejects.toThrow(
      "The database was made by a newer release; start that release or a newer one.",
    )
    await db.sql`delete from migration where step = 1000`
    await db.sql`update migration set hash = 'other' where step = 0`
    await expect(open(url)).rejects.toThrow("The database was not made by this release's migrations")
    await db.close()
  })

  test("that cannot be used is refused in one sentence without user or password", async () => {
    const url = new URL(await newPostgresUrl())
    const at = `PostgreSQL at 127.0.0.1:${url.port}`
    const refused = async (
      changes: Partial<Pick<URL, "port" | "pathname" | "username" | "password">>,
    ): Promise<string> => {
      const error: unknown = await open(Object.assign(new URL(url), changes).href).catch((thrown: unknown) => thrown)
      if (!(error instanceof StartupError)) throw error
      return error.message
    }
    expect(await refused({ port: "1" })).toBe("PostgreSQL at 127.0.0.1:1 could not be reached (ECONNREFUSED).")
    expect(await refused({ pathname: "/nowhere" })).toBe(
      `${at} has no database of the given name: database "nowhere" does not exist (SQLSTATE 3D000).`,
    )
    expect(await refused({ username: GUARDED_USER, password: "wrong" })).toBe(
      `${at} refused the user name or password: password authentication failed for user "…" (SQLSTATE 28P01).`,
    )
    await expect(open("mysql://root@localhost/x")).rejects.toThrow("The database address is not a postgres:// URL.")
  })

  test("that is too old, or not in UTF8, is refused", async () => {
    const url = await newPostgresUrl()
    const db = await open(url)
    const name = new URL(url).pathname.slice(1)
    await db.sql`create function public.current_setting(text) returns text language sql
      as 'select case $1 when ''server_version_num'' then ''120022'' else pg_catalog.current_setting($1) end'`
    await db.read(({ sql }) => sql`alter database ${sql(name)} set search_path = public, pg_catalog`)
    await expect(open(url)).rejects.toThrow(/is version 12; 13 or later is needed\.$/)
    await db.sql`create database latin encoding 'LATIN1' locale 'C' template template0`
    await expect(open(url.replace(name, "latin"))).rejects.toThrow(/is not encoded in UTF8\.$/)
    await db.close()
  })

  test("that may lose commits is used, and reported to the operator", async () => {
    const url = await newPostgresUrl()
    const db = await open(url)
    await db.read(({ sql }) => sql`alter database ${sql(new URL(url).pathname.slice(1))} set synchronous_commit = off`)
    const messages: string[] = []
    const second = await openDatabase({ kind: "postgres", url }, sentence => messages.push(sentence))
    expect(messages).toEqual([expect.stringContaining("acknowledges commits that a crash may lose")])
    await Promise.all([db.close(), second.close()])
  })

  test("that is configured to send no warnings warns all the same", async () => {
    const url = await newPostgresUrl()
    const db = await open(url)
    await db.read(
      ({ sql }) => sql`alter database ${sql(new URL(url).pathname.slice(1))} set client_min_messages = error`,
    )
    const second = await open(url)
    expect(await second.sql`select current_setting('client_min_messages') as level`).toEqual([{ level: "warning" }])
    await Promise.all([db.close(), second.close()])
  })

  test.each(["local", "remote_write"])(
    "that waits for a standby no further than %s is used, and reported to the operator",
    async level => {
      const url = await newPostgresUrl()
      const db = await open(url)
      const name = new URL(url).pathname.slice(1)
      await db.read(({ sql }) => sql`alter database ${sql(name)} set synchronous_commit = ${sql.unsafe(level)}`)
      const messages: string[] = []
      const openReporting = () => openDatabase({ kind: "postgres", url }, sentence => messages.push(sentence))
      const alone = await openReporting()
      expect(messages).toEqual([])
      // As one with a standby would answer: the settings of this cluster are those of all tests.
      await db.sql`create function public.current_setting(text) returns text language sql
      as 'select case $1 when ''synchronous_standby_names'' then ''one'' else pg_catalog.current_setting($1) end'`
      await db.read(({ sql }) => sql`alter database ${sql(name)} set search_path = public, pg_catalog`)
      const second = await openReporting()
      expect(messages).toEqual([expect.stringContaining("acknowledges commits that a failover may lose")])
      await Promise.all([db.close(), alone.close(), second.close()])
    },
  )

  test("whose user may not make tables is refused", async () => {
    const url = new URL(await newPostgresUrl())
    const db = await open(url.href)
    await db.sql`drop schema public cascade`
    await db.close()
    await expect(open(url.href)).rejects.toThrow(
      "The database could not be brought up to date (SQLSTATE 3F000). Its user must own it.",
    )
  })

  test.each([
    ["lock_timeout", "55P03"],
    ["statement_timeout", "57014"],
  ])("whose migration meets its %s says that another session holds a lock", async (timeout, sqlstate) => {
    const url = await newPostgresUrl()
    const db = await open(url)
    const start = createConnectionPool(1, serverClient(url, { [timeout]: 100 }))
    await db.transaction(async ({ sql }) => {
      await sql`lock table migration`
      await expect(start.lease(migrateDatabase)).rejects.toThrow(
        `The database could not be brought up to date (SQLSTATE ${sqlstate}). A step waited too long, for a lock of another session`,
      )
    })
    await start.lease(migrateDatabase)
    await Promise.all([db.close(), start.close()])
  })

  test("that ends a connection inside a transaction leaves nothing of it, and no other connection is touched", async () => {
    const db = await open(await newPostgresUrl())
    await db.sql`create table scratch (a bigint)`
    const killed = db.transaction(async ({ sql }) => {
      const [backend] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
      await sql`insert into scratch values (1)`
      await db.sql`select pg_terminate_backend(${backend?.pid ?? 0}::int)`
      await setTimeout(100)
      await sql`insert into scratch values (2)`.catch(() => {})
      await sql`insert into scratch values (3)`.catch(() => {})
      await sql`insert into scratch values (4)`
    })
    const others = Array.from({ length: 20 }, (_, at) =>
      db.transaction(({ sql }) => sql`insert into scratch values (${100 + at})`),
    )
    await expect(killed).rejects.toMatchObject({ code: "unavailable" })
    await Promise.all(others)
    const rows = await db.sql<{ a: number }[]>`select a from scratch order by a`
    expect(rows.map(({ a }) => a)).toEqual(others.map((_, at) => 100 + at))
    await db.close()
  })
})

describe.skipIf(postgresStart.kind === "absent")(`a commit whose connection is lost ${postgresTitle}`, () => {
  let direct: Database
  let url: string
  beforeAll(async () => {
    url = await newPostgresUrl()
    direct = await openDatabase({ kind: "postgres", url })
  })
  afterAll(() => direct.close())

  /** What a transaction that makes `tenant` throws when its connection is cut, and whether the tenant is there then. */
  async function cutTransaction(tenant: string, text: string, when: "before" | "after"): Promise<[unknown, boolean]> {
    const proxy = await startCuttingProxy(Number(new URL(url).port))
    const db = await openDatabase({ kind: "postgres", url: Object.assign(new URL(url), { port: proxy.port }).href })
    proxy.cutAt(text, when)
    const owner = tenant.length
    const error: unknown = await db
      .transaction(tx => lockTenants(tx, [{ tenant_id: tenant, owner, salt: "0" }]))
      .catch((thrown: unknown) => thrown)
    await db.close()
    proxy.close()
    const rows = await direct.sql`select 1 from tenant where tenant_id = ${tenant}`
    return [error, rows.length === 1]
  }

  test("has an unknown outcome: it may have taken effect", async () => {
    expect(await cutTransaction("done", "commit", "after")).toEqual([
      expect.objectContaining({ code: "outcome_unknown" }),
      true,
    ])
  })

  test("has an unknown outcome: it may not have taken effect", async () => {
    expect(await cutTransaction("undone", "commit", "before")).toEqual([
      expect.objectContaining({ code: "outcome_unknown" }),
      false,
    ])
  })

  test.each([
    ["after", true],
    ["before", false],
  ] as const)(
    "has an unknown outcome when it is that of a statement by itself, cut %s it arrived",
    async (when, there) => {
      const proxy = await startCuttingProxy(Number(new URL(url).port))
      const db = await openDatabase({ kind: "postgres", url: Object.assign(new URL(url), { port: proxy.port }).href })
      const insert = (tenant: string, owner: number) =>
        db.write(
          ({ sql }) => sql`insert into tenant (tenant_id, owner, salt, record_count, head, run_count)
          values (${tenant}, ${owner}, '0', 0, '0', 0)`,
        )
      // What the server has parsed once is sent in one message.
      await insert(`known ${when}`, 100 + when.length)
      proxy.cutAt(`alone ${when}`, when)
      await expect(insert(`alone ${when}`, 200 + when.length)).rejects.toMatchObject({ code: "outcome_unknown" })
      await db.close()
      proxy.close()
      const rows = await direct.sql`select 1 from tenant where tenant_id = ${`alone ${when}`}`
      expect(rows.length === 1).toBe(there)
    },
  )

  test("did not happen when the connection is lost before the commit", async () => {
    const [error, there] = await cutTransaction("never sent", "for update", "after")
    expect([error, there]).toEqual([expect.objectContaining({ code: "unavailable" }), false])
  })
})
