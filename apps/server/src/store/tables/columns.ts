/** What the tables' columns are made of: each has the type of its row's property, and none is nullable. */
import type { HasDefault, IsPrimaryKey, NotNull } from "drizzle-orm"
import {
  bigint,
  boolean,
  customType,
  type PgBigInt53BuilderInitial,
  type PgBooleanBuilderInitial,
  type PgColumn,
  type PgCustomColumnBuilder,
  type PgTableWithColumns,
} from "drizzle-orm/pg-core"
import { packBundle, unpackBundle } from "./bundle-text.ts"

/** A table whose rows have the shape `Row`, no column nullable. Columns bear the names of the properties. */
export type TableOf<Row extends object> = PgTableWithColumns<{
  name: string
  schema: undefined
  dialect: "pg"
  columns: { [Name in keyof Row & string]: ColumnOf<Row[Name]> }
}>

type ColumnOf<Data> = PgColumn<{
  name: string
  tableName: string
  dataType: "number" | "string" | "boolean" | "custom"
  columnType: string
  data: Data
  driverParam: unknown
  notNull: true
  hasDefault: boolean
  isPrimaryKey: boolean
  isAutoincrement: boolean
  hasRuntimeDefault: boolean
  enumValues: [string, ...string[]] | undefined
}>

/** Column of a table of one row: its primary key. */
export type OneRow = { readonly only: boolean }

/** An integer within ±(2^53−1). */
export const number = (): NotNull<PgBigInt53BuilderInitial<"">> => bigint({ mode: "number" }).notNull()

type CustomColumn<Data> = PgCustomColumnBuilder<{
  name: ""
  dataType: "custom"
  columnType: "PgCustomColumn"
  data: Data
  driverParam: unknown
  enumValues: undefined
}>
export const bytes: () => CustomColumn<Uint8Array> = customType<{ data: Uint8Array }>({ dataType: () => "bytea" })

/** A bundle's text, packed. Only drizzle packs and unpacks it: other statements do so themselves. */
export const packedBundle: () => CustomColumn<string> = customType<{ data: string; driverData: Uint8Array }>({
  dataType: () => "bytea",
  toDriver: packBundle,
  fromDriver: unpackBundle,
})

export const onlyRow = (): HasDefault<IsPrimaryKey<NotNull<PgBooleanBuilderInitial<"">>>> =>
  boolean().primaryKey().default(true)
