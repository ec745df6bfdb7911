/** What an export reads of an owner's chain (the id of an API key; 0 = anonymous). */
import { and, asc, eq, gte, lte } from "drizzle-orm"
import type { Source } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { run } from "./runs-table.ts"

/** When records were admitted; a range without a bound is open on that side. */
export type AdmittedRange = {
  /** Milliseconds since the epoch, included. */
  readonly from_ms?: number
  /** Milliseconds since the epoch, excluded. */
  readonly to_ms?: number
}

/** A piece of a chain, by ordinals. Records are admitted in another order than they are sealed in, so it may hold others too. */
type OrdinalSpan = { readonly first: number; readonly last: number }

/** The shortest piece of the owner's chain that holds every record of `among` which was admitted in the range. */
export async function findSpan(
  source: Source,
  owner: number,
  { from_ms, to_ms }: AdmittedRange,
  among: OrdinalSpan,
): Promise<OrdinalSpan | undefined> {
  if (among.first > among.last) return undefined
  if (from_ms === undefined && to_ms === undefined) return among
  // `min(owner_ordinal + 0)`, not of the bare column: for that the database would scan the chain from its start until a record
  // matches. With the sum it reads the matching records in the index of their times: no more than are then exported.
  const [found] = await source.read(
    ({ sql }) => sql<{ first: number | null; last: number | null }[]>`
      select min(owner_ordinal + 0) as first, max(owner_ordinal + 0) as last from run
      where owner = ${owner} and owner_ordinal >= ${among.first} and owner_ordinal <= ${among.last}
        and created_at >= ${from_ms ?? Number.MIN_SAFE_INTEGER} and created_at < ${to_ms ?? Number.MAX_SAFE_INTEGER}`,
  )
  const { first, last } = found ?? {}
  return typeof first === "number" && typeof last === "number" ? { first, last } : undefined
}

/** Digest of the complete-record leaf of an owner's record. @throws StoreError "corrupt" when it is not there */
export async function readLeafDigest(source: Source, owner: number, ordinal: number): Promise<string> {
  const [found] = await source.read(({ orm }) =>
    orm
      .select({ leaf_digest: run.leaf_digest })
      .from(run)
      .where(and(eq(run.owner, owner), eq(run.owner_ordinal, ordinal))),
  )
  if (found === undefined) throw new StoreError("corrupt")
  return found.leaf_digest
}

/** Records of one page: at their largest, which the largest request makes, some 20 MB. */
const PAGE_RECORDS = 16

/**
 * The bundles of the next records of a piece, in the order of the chain: RFC 8785 texts. One page is read at a time, so that a
 * connection is leased for one page only.
 * @throws StoreError "corrupt" when one of them is not there
 */
export async function readBundles(
  source: Source,
  owner: number,
  { first, last }: OrdinalSpan,
): Promise<readonly string[]> {
  const end = Math.min(last, first + PAGE_RECORDS - 1)
  const rows = await source.read(({ orm }) =>
    orm
      .select({ ordinal: run.owner_ordinal, bundle: run.bundle })
      .from(run)
      .where(and(eq(run.owner, owner), gte(run.owner_ordinal, first), lte(run.owner_ordinal, end)))
      .orderBy(asc(run.owner_ordinal)),
  )
  const whole = rows.length === end - first + 1 && rows.every(({ ordinal }, at) => ordinal === first + at)
  if (!whole) throw new StoreError("corrupt")
  return rows.map(({ bundle }) => bundle)
}
