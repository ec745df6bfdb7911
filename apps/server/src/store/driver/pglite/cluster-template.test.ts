/** A database that is made of the template: on the disk before it is used, with an identity of its own, and never half there. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { type Database, makeTemplate, openDatabase, readOrMakeTemplate } from "../database.ts"
import { entriesOf, expand, packFolder, writeSynced } from "./cluster-archive.ts"
import { withOwnIdentifier } from "./folder.ts"

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "runseal-template-test-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const open = (dataDir: string): Promise<Database> => openDatabase({ kind: "pglite", dataDir })

async function systemOf(db: Database): Promise<string> {
  const [row] = await db.sql<{ id: string }[]>`select system_identifier::text as id from pg_control_system()`
  return row?.id ?? ""
}

test("two databases of one template are two clusters, and each is the same one when it is opened again", async () => {
  const folders = [newFolder(), newFolder()]
  const ids: string[] = []
  for (const folder of [...folders, ...folders]) {
    const db = await open(folder)
    ids.push(await systemOf(db))
    await db.close()
  }
  const [one, other, ...again] = ids
  expect(one).not.toBe(other)
  expect(again).toEqual([one, other])
  const seconds = Number(BigInt(one ?? "0") >> 32n)
  expect(Math.abs(seconds - Date.now() / 1000)).toBeLessThan(600)
})

test("what a start left unfinished is never taken for a database, whatever of it is there", async () => {
  const dataDir = newFolder()
  const unfinished = join(dataDir, "postgres.unfinished")
  const entries = [...entriesOf(expand(await readOrMakeTemplate()))]
  mkdirSync(unfinished)
  await writeSynced(unfinished, entries.slice(0, entries.length / 2))
  const db = await open(dataDir)
  expect(await db.sql`select size from log_head`).toEqual([{ size: expect.anything() }])
  await db.close()
  expect(existsSync(unfinished)).toBe(false)
})

test("its files and folders are this user's alone", async () => {
  const dataDir = newFolder()
  await (await open(dataDir)).close()
  for (const path of ["postgres", "postgres/base", "postgres/global/pg_control", "postgres/PG_VERSION"])
    expect(statSync(join(dataDir, path)).mode & 0o077, path).toBe(0)
})

test("an archive holds every file and every empty folder of its folder, byte for byte", async () => {
  const [from, to] = [newFolder(), newFolder()]
  mkdirSync(join(from, "a/empty"), { recursive: true })
  const files = [0, 1, 511, 512, 513, 70_000].map(size => [`a/${size}`, Buffer.alloc(size, size)] as const)
  for (const [name, bytes] of files) writeFileSync(join(from, name), bytes)
  await writeSynced(to, entriesOf(expand(packFolder(from))))
  for (const [name, bytes] of files) expect(readFileSync(join(to, name)).equals(bytes), name).toBe(true)
  expect(statSync(join(to, "a/empty")).isDirectory()).toBe(true)
})

test("a template whose write-ahead log is of another cluster is refused", async () => {
  const entries = [...entriesOf(expand(await readOrMakeTemplate()))]
  const changed = entries.map(entry =>
    entry.name.startsWith("pg_wal/0") ? { ...entry, bytes: Buffer.alloc(entry.bytes.length) } : entry,
  )
  expect(() => withOwnIdentifier(changed, 0)).toThrow("of another cluster")
})

test("two makings of the template give the same bytes, at any time", async () => {
  const [one, other] = await Promise.all(
    [newFolder(), newFolder()].map(async folder => packFolder(await makeTemplate(folder))),
  )
  const found = await readOrMakeTemplate()
  for (const made of [one, other]) expect(Buffer.from(made ?? []).equals(found)).toBe(true)
})
