import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { StartupError } from "@runseal/server/options/startup-error"
import { type Database, openDatabase } from "@runseal/server/store/driver/database"
import { RESTART_EVERY_MS } from "@runseal/server/store/driver/pglite/pglite-thread"
import { readWindow } from "@runseal/server/store/tables/tenant-windows"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"

const PROGRAM = fileURLToPath(new URL("../../../apps/server/spec/database/charging-program.ts", import.meta.url))

let made: string
let dataDir: string
beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), "runseal-made-"))
  await (await open(made)).close()
})
afterAll(() => {
  rmSync(made, { recursive: true, force: true })
})
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "runseal-data-"))
  cpSync(made, dataDir, { recursive: true })
})
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

const open = (folder: string): Promise<Database> => openDatabase({ kind: "pglite", dataDir: folder })

/** A process that charges the folder's database; `totals` fills with what it was acknowledged. */
function startCharging(): {
  readonly process: ChildProcess
  readonly totals: number[]
  readonly reached: (total: number) => Promise<void>
} {
  const child = spawn(process.execPath, [PROGRAM, dataDir], { stdio: ["ignore", "pipe", "inherit"] })
  const totals: number[] = []
  let rest = ""
  child.stdout.setEncoding("utf8")
  child.stdout.on("data", (text: string) => {
    const lines = (rest + text).split("\n")
    rest = lines.pop() ?? ""
    totals.push(...lines.map(Number))
  })
  const reached = async (total: number): Promise<void> => {
    while (totals.length < total) await once(child.stdout, "data")
  }
  return { process: child, totals, reached }
}

test("what was stored is there after closing and opening again", async () => {
  const first = await open(dataDir)
  await first.sql`insert into token_movement
    (charge_id, kind, tenant_id, window_seconds, window_start, ordinal, tokens, total_after, moved_at)
    values ('c', 'charge', 't', 60, 0, 1, 1, 1, 0)`
  await first.close()
  const second = await open(dataDir)
  expect(await second.sql`select charge_id from token_movement`).toEqual([{ charge_id: "c" }])
  await second.close()
})

test("a folder in use is refused, in the same process and from another, and free once its process is gone", async () => {
  const charging = startCharging()
  await charging.reached(1)
  await expect(open(dataDir)).rejects.toThrow(
    new StartupError(`The data folder ${dataDir} is in use by another process: stop that first.`),
  )
  charging.process.kill("SIGKILL")
  await once(charging.process, "exit")
  const db = await open(dataDir)
  await expect(open(dataDir)).rejects.toThrow(StartupError)
  await db.close()
})

test("a killed process loses nothing it was acknowledged, however often it is killed", async () => {
  for (const charges of [1, 40, 200]) {
    const charging = startCharging()
    await charging.reached(charges)
    charging.process.kill("SIGKILL")
    await once(charging.process, "close")
    const db = await open(dataDir)
    const { total } = await readWindow(db, { tenant_id: "charged", window_seconds: 60, window_start: 0 })
    expect(total).toBeGreaterThanOrEqual(Math.max(...charging.totals))
    const rows = await db.sql<{ total_after: number }[]>`select total_after from token_movement order by total_after`
    expect(rows.map(row => row.total_after)).toEqual(Array.from({ length: total }, (_, at) => at + 1))
    await db.close()
  }
})

test("a making that was interrupted is made anew", async () => {
  rmSync(join(dataDir, "postgres"), { recursive: true })
  mkdirSync(join(dataDir, "postgres.unfinished", "base"), { recursive: true })
  writeFileSync(join(dataDir, "postgres.unfinished", "PG_VERSION"), "18\n")
  const db = await open(dataDir)
  expect(await db.sql`select size from log_head`).toEqual([{ size: 0 }])
  await db.close()
  expect(existsSync(join(dataDir, "postgres.unfinished"))).toBe(false)
})

test("a folder of another major version of PostgreSQL is refused with what to do, and stays as it is", async () => {
  writeFileSync(join(dataDir, "postgres", "PG_VERSION"), "17\n")
  await expect(open(dataDir)).rejects.toThrow(
    /holds a database of PostgreSQL 17 and this release reads 18: start the release/,
  )
  writeFileSync(join(dataDir, "postgres", "PG_VERSION"), "18\n")
  await (await open(dataDir)).close()
})

test.each([
  ["global/pg_control", 100],
  ["PG_VERSION", 0],
])("a database whose %s has %i bytes is refused, and the folder is not locked by the attempt", async (path, length) => {
  truncateSync(join(dataDir, "postgres", path), length)
  const refused =
    /^The embedded database cannot be opened: the files in .* are damaged .* restore that folder from your backup\.$/
  await expect(open(dataDir)).rejects.toThrow(refused)
  await expect(open(dataDir)).rejects.toThrow(refused)
})

test("a path that is no folder is refused", async () => {
  const path = join(dataDir, "postgres", "PG_VERSION")
  await expect(open(path)).rejects.toThrow(
    new StartupError(
      `The data folder ${path} cannot be used: check that it is a folder this user may write to and all of it is there.`,
    ),
  )
})

test("the write-ahead log is checkpointed and recycled without anybody asking", async () => {
  const db = await open(dataDir)
  for (let at = 0; at < 12; at++) {
    await db.sql`insert into log_entry
      select ${at * 2000}::int + n, (select string_agg(md5(n || '-' || k), '') from generate_series(1, 100) k), 0
      from generate_series(1, 2000) n`
  }
  const segments = readdirSync(join(dataDir, "postgres", "pg_wal")).filter(name => /^[0-9A-F]{24}$/.test(name))
  expect(segments.length).toBeLessThan(10)
  const [{ lsn } = { lsn: 0 }] = await db.sql<{ lsn: number }[]>`
    select (pg_current_wal_lsn() - '0/0')::bigint as lsn`
  expect(lsn).toBeGreaterThan(segments.length * 16 * 1024 * 1024)
  await db.close()
})

test("a crash of the embedded database fails what was under way; the next work finds what was committed", async () => {
  const db = await open(dataDir)
  for (const tokens of [1, 2]) {
    await db.sql`insert into tenant_window (tenant_id, window_seconds, window_start, total, movements)
      values (${`t${tokens}`}, 1, 0, ${tokens}, 1)`
    await sleep(RESTART_EVERY_MS)
    // The one statement it cannot bear: COPY waits for input that its protocol has no way to give.
    const crash = db.transaction(async ({ sql }) => {
      await sql`update tenant_window set total = 99`
      await sql`copy log_entry from stdin`.writable()
    })
    await expect(crash).rejects.toMatchObject({ code: "unavailable" })
    expect(await db.sql`select sum(total)::int as total from tenant_window`).toEqual([{ total: tokens === 1 ? 1 : 3 }])
  }
  await db.close()
  await (await open(dataDir)).close()
})

test("a database that cannot come back is refused at once, and looked for again", async () => {
  const db = await open(dataDir)
  await sleep(RESTART_EVERY_MS)
  const [cluster, away] = [join(dataDir, "postgres"), join(dataDir, "away")]
  renameSync(cluster, away)
  await expect(db.read(({ sql }) => sql`copy log_entry from stdin`.writable())).rejects.toMatchObject({
    code: "unavailable",
  })
  for (let i = 0; i < 3; i++) await expect(db.sql`select 1`).rejects.toMatchObject({ code: "unavailable" })
  expect(existsSync(cluster), "no new database is made in its place").toBe(false)
  renameSync(away, cluster)
  await sleep(RESTART_EVERY_MS)
  expect(await db.sql`select 1 as one`).toEqual([{ one: 1 }])
  await db.close()
})
