/**
 * The pages of a customer's lists. The API counts their places from the newest row, which new rows move; the console counts them from
 * the oldest one, so that no row is on two pages or on none.
 */
import { isRefusal, type Refusal } from "../api.ts"

type Listed<Row> = { readonly total: number; readonly rows: readonly Row[] }

export type OwnPage<Row> = Listed<Row> & {
  /** Rows that are older than those of the page, for the next one; absent from the last. */
  readonly next?: string
}

/** Which page is asked for. */
export type OwnPlace = {
  /** `next` of the page before; absent: the newest. */
  readonly before: string | undefined
  readonly limit: number
  /** How many rows there were lately; absent: they are counted first. */
  readonly total?: number
}

/** A page of a list. @param read asks the API for rows from a place on, counted from the newest */
export async function ownPage<Row>(
  { before, limit, total }: OwnPlace,
  read: (offset: number, limit: number) => Promise<Listed<Row> | Refusal>,
): Promise<OwnPage<Row> | Refusal> {
  const counted = before === undefined ? { total: 0 } : total === undefined ? await read(0, 1) : { total }
  if (isRefusal(counted)) return counted
  const offset = before === undefined ? 0 : Math.max(0, counted.total - Number(before))
  const found = await read(offset, limit)
  if (isRefusal(found)) return found
  // What came since they were counted has moved rows of the page before into this one.
  const moved = before === undefined ? 0 : Math.max(0, found.total - counted.total)
  const older = found.total - offset - found.rows.length
  return { total: found.total, rows: found.rows.slice(moved), ...(older > 0 ? { next: `${older}` } : {}) }
}
