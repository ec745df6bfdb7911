/**
 * Types of columns. No column is nullable, and each has the name of its row's property. Sealed documents are texts,
 * bundles packed ones: jsonb rewrites the bytes that were hashed. Tree hashes are `bytea`; digests that are shown, compared or
 * searched by prefix are lowercase hex.
 */
import { bigint, boolean, customType } from "drizzle-orm/pg-core"
import { packBundle, unpackBundle } from "./bundle-text.ts"

/** A table's row; of a table of one row without its key. */
export type RowOf<Table extends { readonly $inferSelect: object }> = Readonly<Omit<Table["$inferSelect"], "only">>

/** An integer within ±(2^53−1), where JSON is exact. */
export const number = () => bigint({ mode: "number" }).notNull()

export const bytea = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => "bytea" })

/** A bundle's text, packed. Only Drizzle packs and unpacks it: other statements do so themselves. */
export const packedBundle = customType<{ data: string; driverData: Uint8Array }>({
  dataType: () => "bytea",
  toDriver: packBundle,
  fromDriver: unpackBundle,
})

/** Key of a table of one row. */
export const onlyRow = () => boolean().primaryKey().default(true)
