/** What an export reads of an owner's chain (the id of an API key; 0 = anonymous): the documents with an ordinal. */
import { EXPORT_WINDOWS_MAX } from "@runseal/core/artifacts/export-statement"
import type { Source } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { unpackBundle } from "./bundle-text.ts"
import type { TenantWindowRow } from "./tenant-windows.ts"

/** When documents were admitted or ended; a range without a bound is open on that side. */
export type AdmittedRange = {
  /** Milliseconds since the epoch, included. */
  readonly from_ms?: number
  /** Milliseconds since the epoch, excluded. */
  readonly to_ms?: number
}

/** A piece of a chain, by ordinals. Records are admitted in another order than they are sealed in, so it may hold others too. */
export type OrdinalSpan = { readonly first: number; readonly last: number }

/** The shortest piece of the owner's chain that holds every document of `among` which was admitted or ended in the range. */
export async function findSpan(
  source: Source,
  owner: number,
  { from_ms, to_ms }: AdmittedRange,
  among: OrdinalSpan,
): Promise<OrdinalSpan | undefined> {
  if (among.first > among.last) return undefined
  if (from_ms === undefined && to_ms === undefined) return among
  // `min(chain_ordinal + 0)`, not of the bare column: for that the database would scan the chain from its start until a document
  // matches. With the sum it reads the matching rows in the index of their times: no more than are then exported.
  const [from, to] = [from_ms ?? Number.MIN_SAFE_INTEGER, to_ms ?? Number.MAX_SAFE_INTEGER]
  const { first: low, last: high } = among
  const [found] = await source.read(
    ({ sql }) => sql<{ first: number | null; last: number | null }[]>`
      select min(chain_ordinal + 0) as first, max(chain_ordinal + 0) as last from document
      where owner = ${owner} and instant >= ${from} and instant < ${to} and chain_ordinal > 0
        and chain_ordinal >= ${low} and chain_ordinal <= ${high}`,
  )
  const { first, last } = found ?? {}
  return typeof first === "number" && typeof last === "number" ? { first, last } : undefined
}

/** How many documents of each kind are in a piece, by the name of the kind, without its records: the others are records. */
export function countPiece(
  source: Source,
  owner: number,
  { first, last }: OrdinalSpan,
): Promise<ReadonlyMap<string, number>> {
  return source.read(async ({ sql }) => {
    const rows = await sql<{ kind: string; count: number }[]>`
      select kind, count(*) as count from document
      where owner = ${owner} and kind <> 'bundle' and chain_ordinal >= ${first} and chain_ordinal <= ${last} group by kind`
    return new Map(rows.map(({ kind, count }) => [kind, count]))
  })
}

/** Digest of the leaf of a document of the chain. @throws StoreError "corrupt" when it is not there */
export async function readLeafDigest(source: Source, owner: number, ordinal: number): Promise<string> {
  const [found] = await source.read(
    ({ sql }) => sql<{ leaf_digest: string }[]>`
      select leaf_digest from document where owner = ${owner} and chain_ordinal = ${ordinal} and chain_ordinal > 0`,
  )
  if (found === undefined) throw new StoreError("corrupt")
  return found.leaf_digest
}

/** Documents of one page: at their largest, which the largest request makes, some 20 MB. */
const PAGE_DOCUMENTS = 16

type StoredDocument = { readonly ordinal: number; readonly packed: Uint8Array }

/**
 * The next documents of a piece, in the order of the chain: RFC 8785 texts. One page is read at a time, so that a connection is
 * leased for one page only.
 * @throws StoreError "corrupt" when one of them is not there
 */
export async function readDocuments(
  source: Source,
  owner: number,
  { first, last }: OrdinalSpan,
): Promise<readonly string[]> {
  const end = Math.min(last, first + PAGE_DOCUMENTS - 1)
  const rows = await source.read(
    ({ sql }) => sql<StoredDocument[]>`
      select chain_ordinal as ordinal, packed from document
      where owner = ${owner} and chain_ordinal > 0 and chain_ordinal >= ${first} and chain_ordinal <= ${end}
      order by chain_ordinal`,
  )
  const whole = rows.length === end - first + 1 && rows.every(({ ordinal }, at) => ordinal === first + at)
  if (!whole) throw new StoreError("corrupt")
  return rows.map(({ packed }) => unpackBundle(packed))
}

/** An opening before a piece, with its ordinal. */
export type EarlierOpening = { readonly ordinal: number; readonly text: string }

/**
 * The next openings before a piece whose closes are in it, in the order of the chain: a page.
 * @param after only openings with a greater ordinal
 */
export async function readEarlierOpenings(
  source: Source,
  owner: number,
  { first, last }: OrdinalSpan,
  after: number,
): Promise<readonly EarlierOpening[]> {
  // Numbers of runs rise with their ordinals: those of the piece are a range, in which the index finds the closed permits.
  const rows = await source.read(
    ({ sql }) => sql<StoredDocument[]>`
      select opened.chain_ordinal as ordinal, opened.packed from permit
      join document as opened on opened.log_index = permit.log_index
      where permit.owner = ${owner} and permit.run_id > 0
        and permit.run_id >= (select run_id from run where log_index = (
          select log_index from document where owner = ${owner} and kind = 'bundle' and chain_ordinal > 0
            and chain_ordinal >= ${first} order by chain_ordinal limit 1))
        and permit.run_id <= (select run_id from run where log_index = (
          select log_index from document where owner = ${owner} and kind = 'bundle' and chain_ordinal > 0
            and chain_ordinal <= ${last} order by chain_ordinal desc limit 1))
        and opened.chain_ordinal > ${after} and opened.chain_ordinal < ${first}
      order by opened.chain_ordinal limit ${PAGE_DOCUMENTS}`,
  )
  return rows.map(({ ordinal, packed }) => ({ ordinal, text: unpackBundle(packed) }))
}

export type WindowTotal = Omit<TenantWindowRow, "tenant_id">

/** The windows of a tenant that a range touches, by rising start, then length: the newest EXPORT_WINDOWS_MAX of them. */
export function readTouchedWindows(
  source: Source,
  tenantId: string,
  { from_ms, to_ms }: AdmittedRange,
): Promise<readonly WindowTotal[]> {
  return source.read(
    ({ sql }) => sql<WindowTotal[]>`
      select window_seconds, window_start, total, movements from (
        select window_seconds, window_start, total, movements from tenant_window
        where tenant_id = ${tenantId} and movements > 0
          and window_start + window_seconds * 1000 > ${from_ms ?? Number.MIN_SAFE_INTEGER}
          and window_start < ${to_ms ?? Number.MAX_SAFE_INTEGER}
        order by window_start desc, window_seconds desc limit ${EXPORT_WINDOWS_MAX}
      ) as newest
      order by window_start, window_seconds`,
  )
}

/** How many permits of an owner are open. */
export function countOpen(source: Source, owner: number): Promise<number> {
  return source.read(async ({ sql }) => {
    const [row] = await sql<{ open: number }[]>`
      select count(*) as open from permit where owner = ${owner} and state = 'open'`
    return row?.open ?? 0
  })
}
