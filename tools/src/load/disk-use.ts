/** What a run takes on disk, by table. */
import { readable, type Section } from "../bench/row.ts"
import { ask } from "./target.ts"

type Use = { readonly name: string; readonly table: string; readonly indexes: string; readonly runs: string }

const PER_RUN_WORTH_A_LINE = 5

/** As allocated, the compressed bundles included; empty room in pages as well. */
export async function diskUse(databaseUrl: string): Promise<Section> {
  const tables = await ask<Use>(
    databaseUrl,
    `select relname as name, pg_table_size(oid)::text as table, pg_indexes_size(oid)::text as indexes,
       (select count(*) from run)::text as runs
     from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by pg_total_relation_size(oid) desc`,
  )
  const runs = Number(tables[0]?.runs)
  const [bundles] = await ask<{ stored: string }>(
    databaseUrl,
    "select avg(octet_length(bundle))::text as stored from run tablesample system (1)",
  )
  const rows = tables
    .map(({ name, table, indexes }) => ({ name, table: Number(table) / runs, indexes: Number(indexes) / runs }))
    .filter(({ table, indexes }) => table + indexes > PER_RUN_WORTH_A_LINE)
  const whole = rows.reduce((sum, { table, indexes }) => sum + table + indexes, 0)
  const bundle = `bundles as stored: ${readable(Number(bundles?.stored))} bytes in the mean`
  return {
    title: `Disk: bytes a run, ${runs.toLocaleString("en")} runs`,
    columns: ["table", "rows", "indexes", ""],
    rows: [
      ...rows.map(({ name, table, indexes }) => [
        name,
        readable(table),
        readable(indexes),
        name === "run" ? bundle : "",
      ]),
      ["all", "", "", `${readable(whole)} bytes a run, ${readable((whole * runs) / 2 ** 30)} GiB in all`],
    ],
  }
}
