/** What an export reads of an owner's chain (the id of an API key; 0 = anonymous). */
import { and, asc, eq, gte, lt, lte, max, min, sql } from "drizzle-orm"
import { run } from "./schema.ts"
import type { Source } from "./session.ts"

/** When records were admitted; an absent bound takes in everything on its side. */
export type AdmittedRange = {
  /** Milliseconds since the epoch, included. */
  readonly from_ms?: number
  /** Milliseconds since the epoch, excluded. */
  readonly to_ms?: number
}

/** A piece of a chain, by ordinals. Records are admitted in another order than they are sealed in, so it may hold others too. */
export type OrdinalSpan = { readonly first: number; readonly last: number }

/** The shortest piece of the owner's chain that holds every record of `among` which was admitted in the range. */
export async function findSpan(
  source: Source,
  owner: number,
  { from_ms, to_ms }: AdmittedRange,
  among: OrdinalSpan,
): Promise<OrdinalSpan | undefined> {
  const [found] = await source.read(({ orm }) =>
    orm
      .select({ first: min(run.owner_ordinal), last: max(run.owner_ordinal) })
      .from(run)
      .where(
        and(
          eq(run.owner, owner),
          gte(run.owner_ordinal, among.first),
          lte(run.owner_ordinal, among.last),
          from_ms === undefined ? undefined : gte(run.created_at, from_ms),
          to_ms === undefined ? undefined : lt(run.created_at, to_ms),
        ),
      ),
  )
  const { first, last } = found ?? {}
  return typeof first === "number" && typeof last === "number" ? { first, last } : undefined
}

/** Most records and bytes of one page: a page ends with the record that goes past the bytes, so it holds at least one. */
const PAGE_RECORDS = 64
const PAGE_BYTES = 1_048_576

/** The bundles of the next records from `first` on, at most to `last`, in the order of the chain: RFC 8785 texts. */
export function readBundles(source: Source, owner: number, { first, last }: OrdinalSpan): Promise<readonly string[]> {
  return source.read(async ({ orm }) => {
    const bytes = sql<number>`octet_length(${run.bundle})`
    const before = sql<number>`sum(${bytes}) over (order by ${run.owner_ordinal}) - ${bytes}`.as("before")
    const rows = orm
      .select({ bundle: run.bundle, ordinal: run.owner_ordinal, before })
      .from(run)
      .where(
        and(
          eq(run.owner, owner),
          gte(run.owner_ordinal, first),
          lte(run.owner_ordinal, Math.min(last, first + PAGE_RECORDS - 1)),
        ),
      )
      .as("page")
    const page = await orm
      .select({ bundle: rows.bundle })
      .from(rows)
      .where(lt(rows.before, PAGE_BYTES))
      .orderBy(asc(rows.ordinal))
    return page.map(({ bundle }) => bundle)
  })
}
