/** A text that must not be found, in every way in which it may have been written. */
import type { Database } from "../../src/store/driver/database.ts"
import { document } from "../../src/store/tables/documents-table.ts"
import { runSql } from "./read-tables.ts"

/** Raw, escaped in JSON once and twice, in base64 at each offset, in hex, in a URL. */
export function spellings(text: string): readonly string[] {
  const bytes = Buffer.from(text)
  const base64 = [0, 1, 2].map(shift => {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64")
    return shifted.slice(shift === 0 ? 0 : 4, -4)
  })
  const escaped = JSON.stringify(text).slice(1, -1)
  return [
    text,
    escaped,
    JSON.stringify(escaped).slice(1, -1),
    ...base64,
    bytes.toString("hex"),
    encodeURIComponent(text),
  ]
}

/** Every row of every table as text, and every sealed document unpacked; at least this many tables. */
export async function dumpTables(db: Database, atLeast: number): Promise<string> {
  const tables = await db.sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')`
  if (tables.length < atLeast) throw new Error("the dump misses tables")
  const rows = await Promise.all(tables.map(({ name }) => runSql(db, `select t::text as row from ${name} t`)))
  const documents = await db.read(({ orm }) => orm.select({ text: document.packed }).from(document))
  return [...rows.flat(), ...documents].flatMap(row => Object.values(row)).join("\n")
}
