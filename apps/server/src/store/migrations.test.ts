/** What the migrations make of a database is what the tables say, so that the tables are the one place where columns are written. */
import { readdirSync, readFileSync } from "node:fs"
import { generateDrizzleJson, generateMigration } from "drizzle-kit/api"
import { beforeAll, expect, test } from "vitest"
import { bothDatabases } from "../../spec/database/databases.ts"
import { runSql } from "../../spec/harness/read-tables.ts"
import type { Database } from "./driver/database.ts"

const TABLES = new URL("./tables/", import.meta.url)
const META = new URL("./migrations/meta/", import.meta.url)
const NO_SCHEMA = generateDrizzleJson({})

/** Everything that the table modules export; what is no table is nothing to Drizzle. */
async function allTables(): Promise<Record<string, unknown>> {
  const files = readdirSync(TABLES).filter(name => name.endsWith(".ts") && !name.endsWith(".test.ts"))
  const modules: object[] = await Promise.all(files.map(name => import(new URL(name, TABLES).href)))
  return Object.assign({}, ...modules)
}

const tables = generateDrizzleJson(await allTables(), NO_SCHEMA.id)

test("the newest snapshot is the only one, belongs to the last migration, and knows the tables as they are", async () => {
  const { entries } = JSON.parse(readFileSync(new URL("_journal.json", META), "utf8"))
  const snapshots = readdirSync(META).filter(name => name !== "_journal.json")
  expect(snapshots).toEqual([`${String(entries.at(-1).idx).padStart(4, "0")}_snapshot.json`])
  const snapshot = JSON.parse(readFileSync(new URL(snapshots[0] ?? "", META), "utf8"))
  expect(await generateMigration(snapshot, tables)).toEqual([])
})

/** Columns, constraints and indexes of a schema, without its name. */
async function described(db: Database, schema: string): Promise<readonly string[]> {
  const rows = await db.sql<{ line: string }[]>`
    select concat_ws(' ', 'column', table_name, column_name, data_type, 'null:', is_nullable, 'default:', column_default) as line
    from information_schema.columns where table_schema = ${schema} and table_name <> 'migration'
    union all
    select concat_ws(' ', 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)) from pg_constraint
    where connamespace = ${schema}::regnamespace and contype <> 'n' and conrelid::regclass::text !~ '(^|\.)migration$'
    union all
    select concat_ws(' ', 'index', indexdef) from pg_indexes where schemaname = ${schema} and tablename <> 'migration'`
  return rows.map(({ line }) => line.replaceAll(`${schema}.`, "")).toSorted()
}

bothDatabases("the migrations", open => {
  let db: Database
  beforeAll(async () => {
    db = await open()
  })

  test("make the tables, with their keys, checks and indexes, and nothing else", async () => {
    await runSql(db, "create schema made")
    await db.transaction(async ({ sql }) => {
      await sql`set local search_path = made`
      for (const statement of await generateMigration(NO_SCHEMA, tables)) await sql.unsafe(statement)
    })
    const migrated = await described(db, "public")
    expect(migrated.length).toBeGreaterThan(100)
    expect(await described(db, "made")).toEqual(migrated)
  })
})
