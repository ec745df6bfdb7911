import { execFile } from "node:child_process"
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { PGlite } from "@electric-sql/pglite"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { DURABLE_START_PARAMS, durableFiles, isWalSegment, type SyncWatch } from "./durable-files.ts"

const PGDATA = "/pglite/data"

let made: string
let folder: string
beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), "runseal-cluster-"))
  await (await openDurable(made)).close()
})
afterAll(() => {
  rmSync(made, { recursive: true, force: true })
})
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "runseal-durable-"))
  cpSync(made, join(folder, "live"), { recursive: true })
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

async function openDurable(clusterDir: string, watch: Partial<SyncWatch> = {}): Promise<PGlite> {
  const fs = durableFiles(clusterDir, { synced: () => {}, failed: () => {}, ...watch })
  return PGlite.create({ fs, startParams: [...DURABLE_START_PARAMS] })
}

test("a commit syncs its WAL before it is acknowledged", async () => {
  const synced: string[] = []
  const pglite = await openDurable(join(folder, "live"), { synced: path => synced.push(path) })
  await pglite.exec("create table t (a int)")
  synced.length = 0
  await pglite.query("insert into t values (1)")
  expect(synced.filter(isWalSegment)).toHaveLength(1)
  await pglite.close()
})

test("a file that could not be made for want of a descriptor is made once there is one", async () => {
  const program = fileURLToPath(new URL("../../../../spec/database/descriptors-program.ts", import.meta.url))
  const words = ["-c", 'ulimit -n 200; exec "$0" "$@"', process.execPath, program, join(folder, "short")]
  const { stdout } = await promisify(execFile)("bash", words)
  const [lacking, ...after] = stdout.trim().split("\n")
  expect(lacking).not.toBe("written")
  expect(after.at(-1), stdout).toBe("written")
})

test("a sync that fails is reported, and its commit is not acknowledged", async () => {
  let broken = false
  const failed: unknown[] = []
  const synced = (path: string): void => {
    if (broken && isWalSegment(path)) throw new Error("the disk is gone")
  }
  const pglite = await openDurable(join(folder, "live"), { synced, failed: error => failed.push(error) })
  await pglite.exec("create table t (a int)")
  broken = true
  await expect(pglite.query("insert into t values (1)")).rejects.toThrow(/could not fsync/)
  expect(failed).toHaveLength(1)
})

test("a checkpoint syncs the data files it wrote before it says in pg_control that the WAL may go", async () => {
  const synced: string[] = []
  const pglite = await openDurable(join(folder, "live"), { synced: path => synced.push(path.slice(PGDATA.length)) })
  await pglite.exec("create table t (a int); insert into t values (1)")
  const [{ path } = { path: "" }] = (await pglite.query<{ path: string }>("select pg_relation_filepath('t') as path"))
    .rows
  synced.length = 0
  await pglite.exec("checkpoint")
  expect(synced).toContain(`/${path}`)
  expect(synced.indexOf("/global/pg_control")).toBeGreaterThan(synced.indexOf(`/${path}`))
  await pglite.close()
})

test("what was synced when a commit was acknowledged is enough to recover it: a power cut loses nothing", async () => {
  const live = join(folder, "live")
  const disk = join(folder, "disk")
  cpSync(live, disk, { recursive: true })
  // From here on the disk gets a file only when that file is synced, as it was then.
  const toDisk = (path: string): void => {
    const source = join(live, path.slice(PGDATA.length))
    const target = join(disk, path.slice(PGDATA.length))
    if (!statSync(source, { throwIfNoEntry: false })?.isFile()) return
    mkdirSync(dirname(target), { recursive: true })
    copyFileSync(source, target)
  }
  const pglite = await openDurable(live, { synced: toDisk })
  await pglite.exec("create table t (a int primary key, b text)")
  for (let at = 0; at < 60; at++) {
    await pglite.query(
      "insert into t select $1::int, string_agg(md5($1::int || '-' || n), '') from generate_series(1, 60) n",
      [at],
    )
    if (at % 20 === 10) await pglite.exec("checkpoint")
  }
  const recovered = await openDurable(disk)
  const { rows } = await recovered.query("select count(*)::int as rows, sum(length(b))::int as bytes from t")
  expect(rows).toEqual([{ rows: 60, bytes: 60 * 60 * 32 }])
  await recovered.close()
  await pglite.close()
})
