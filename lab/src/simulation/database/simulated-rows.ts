/** Rows and tables of the simulated database. Tables, keys and unique columns come from the store's schema. */

import { api_key } from "@runseal/server/store/tables/api-keys"
import { attestation } from "@runseal/server/store/tables/attestations-table"
import { deployment } from "@runseal/server/store/tables/deployment-table"
import { document } from "@runseal/server/store/tables/documents-table"
import { idempotency_key } from "@runseal/server/store/tables/idempotency-keys"
import { log_entry, log_head, log_tile } from "@runseal/server/store/tables/log-store"
import { permit } from "@runseal/server/store/tables/permits-table"
import { run_term } from "@runseal/server/store/tables/run-terms"
import { outcome_count, run } from "@runseal/server/store/tables/runs-table"
import { key_change, signing_key } from "@runseal/server/store/tables/signing-keys"
import { tenant_window, token_movement } from "@runseal/server/store/tables/tenant-windows"
import { tenant } from "@runseal/server/store/tables/tenants"
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core"

export type Cell = string | number | boolean | Uint8Array
export type Row = Readonly<Record<string, Cell>>

export type TableShape = {
  readonly name: string
  readonly columns: readonly string[]
  readonly key: readonly string[]
  /** Other sets of columns that are unique. */
  readonly uniques: readonly (readonly string[])[]
  readonly defaults: Row
  /** The row with the store's types. */
  readonly decode: (row: Row) => object
}

/** Rows by the text of their key, in the order they were inserted. */
export type TableRows = ReadonlyMap<string, Row>
/** The committed rows at some instant, by table. */
export type Snapshot = ReadonlyMap<string, TableRows>

function shapeOf(table: PgTable): TableShape {
  const { name, columns, primaryKeys, uniqueConstraints } = getTableConfig(table)
  const primary = columns.filter(column => column.primary).map(column => column.name)
  const composed = primaryKeys.map(key => key.columns.map(column => column.name))
  const alone = columns.filter(column => column.isUnique).map(column => [column.name])
  const together = uniqueConstraints.map(constraint => constraint.columns.map(column => column.name))
  const preset = columns.filter(column => column.hasDefault).map(column => [column.name, column.default as Cell])
  return {
    name,
    columns: columns.map(column => column.name),
    key: composed[0] ?? primary,
    uniques: [...alone, ...together],
    defaults: Object.fromEntries(preset),
    decode: row =>
      Object.fromEntries(columns.map(column => [column.name, column.mapFromDriverValue(row[column.name])])),
  }
}

const TABLES: readonly PgTable[] = [
  deployment,
  key_change,
  log_head,
  log_entry,
  log_tile,
  run,
  run_term,
  outcome_count,
  permit,
  document,
  signing_key,
  tenant,
  tenant_window,
  token_movement,
  attestation,
  idempotency_key,
  api_key,
]

export const SHAPES: ReadonlyMap<string, TableShape> = new Map(
  TABLES.map(table => {
    const shape = shapeOf(table)
    return [shape.name, shape]
  }),
)

/** @throws Error for a table this simulation does not know */
export function shapeNamed(name: string): TableShape {
  const shape = SHAPES.get(name)
  if (shape === undefined) throw new Error(`the simulated database has no table ${name}`)
  return shape
}

const textOf = (cell: Cell | undefined): string =>
  cell instanceof Uint8Array ? Buffer.from(cell).toString("hex") : String(cell)

/** The values of some columns as one text. */
export const valuesOf = (row: Row, columns: readonly string[]): string =>
  columns.map(column => textOf(row[column])).join("\u0000")

export const keyOf = (shape: TableShape, row: Row): string => valuesOf(row, shape.key)

/** SHA-256 of nothing: the root of the empty log. */
const EMPTY_ROOT = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/** The database after the migrations: one row, the head of the empty log. */
export function emptyDatabase(): Snapshot {
  const head: Row = {
    only: true,
    size: 0,
    root: Buffer.from(EMPTY_ROOT, "hex"),
    log_time: 0,
    next_run_id: 1,
    checkpoint: "",
    epoch: 0,
    clock_event: 0,
  }
  const shape = shapeNamed("log_head")
  return new Map(
    [...SHAPES.keys()].map(name => [name, new Map(name === shape.name ? [[keyOf(shape, head), head]] : [])]),
  )
}

/** The rows of a table with the store's types. @param only the rows that are wanted */
export function decoded<Stored extends object>(
  snapshot: Snapshot,
  table: PgTable & { $inferSelect: object },
  only: (row: Row) => boolean = () => true,
): readonly Stored[] {
  const shape = shapeNamed(getTableConfig(table).name)
  const rows = [...(snapshot.get(shape.name)?.values() ?? [])].filter(only)
  return rows.map(row => shape.decode(row) as Stored)
}

/** Rows in the order of some columns: numbers by size, texts by their bytes. */
export function sorted(rows: readonly Row[], by: readonly string[]): readonly Row[] {
  const compare = (a: Cell | undefined, b: Cell | undefined): number => {
    if (typeof a === "number" && typeof b === "number") return a - b
    return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
  }
  return rows.toSorted((a, b) => {
    for (const column of by) {
      const order = compare(a[column], b[column])
      if (order !== 0) return order
    }
    return 0
  })
}
