/** Removes what is old, a bounded number of rows at a time. */
import { and, asc, inArray, lte, type SQL } from "drizzle-orm"
import type { AnyPgColumn } from "drizzle-orm/pg-core"
import type { Session } from "../driver/session.ts"

/**
 * Removes at most `limit` rows, the oldest first; those that another process has locked are left to it.
 * @param key the table's key
 * @param at the column that says how old a row is
 * @param before rows as old as this go
 * @param among only these
 */
export async function sweepRows(
  orm: Session["orm"],
  key: AnyPgColumn,
  at: AnyPgColumn,
  before: number,
  limit: number,
  among?: SQL,
): Promise<void> {
  const old = orm
    .select({ key })
    .from(key.table)
    .where(and(lte(at, before), among))
    .orderBy(asc(at))
    .limit(limit)
    .for("update", { skipLocked: true })
  await orm.delete(key.table).where(inArray(key, old))
}
