/**
 * Documents that were stored within a span of time. Records and attestations are found without an index over time: their numbers rise
 * with it. Openings and ends of permits have an index of their times for each owner.
 */
import type { Source } from "../driver/session.ts"
import { unpackBundle } from "./bundle-text.ts"

/** Milliseconds since the epoch, both included. */
export type Span = { readonly from: number; readonly to: number }

/** Documents read at once. */
const PAGE = 16

/** Canonical texts of the runs that were admitted within the span, in pages. */
export async function* runsWithin(source: Source, span: Span): AsyncGenerator<readonly string[]> {
  const newest = await source.read(async ({ sql }) => {
    const [row] = await sql<{ newest: number }[]>`select coalesce(max(run_id), 0) as newest from run`
    return row?.newest ?? 0
  })
  const timeOf = (run: number): Promise<number | undefined> =>
    source.read(async ({ sql }) => {
      const [row] = await sql<{ created_at: number }[]>`select created_at from run where run_id = ${run}`
      return row?.created_at
    })
  for (let first = await firstSince(newest, span.from, timeOf); ; first += PAGE) {
    const rows = await source.read(
      async ({ sql }) => sql<{ created_at: number; bundle: Uint8Array }[]>`
        select created_at, bundle from run where run_id >= ${first} and run_id < ${first + PAGE} order by run_id`,
    )
    const within = rows.filter(({ created_at }) => created_at >= span.from && created_at <= span.to)
    if (within.length > 0) yield within.map(({ bundle }) => unpackBundle(bundle))
    if (rows.length < PAGE || rows.every(({ created_at }) => created_at > span.to)) return
  }
}

/** Canonical texts of the attestations of the span, in pages. */
export async function* attestationsWithin(source: Source, span: Span): AsyncGenerator<readonly string[]> {
  for (let owner = await ownerAfter(source, -1); owner !== undefined; owner = await ownerAfter(source, owner.owner)) {
    const { owner: own, newest } = owner
    const timeOf = (ordinal: number): Promise<number | undefined> =>
      source.read(async ({ sql }) => {
        const [row] = await sql<{ created_at: number }[]>`
          select created_at from attestation where owner = ${own} and owner_ordinal = ${ordinal}`
        return row?.created_at
      })
    for (let first = await firstSince(newest, span.from, timeOf); first <= newest; first += PAGE) {
      const rows = await source.read(
        async ({ sql }) => sql<{ created_at: number; document: string }[]>`
          select created_at, document from attestation
          where owner = ${own} and owner_ordinal >= ${first} and owner_ordinal < ${first + PAGE} order by owner_ordinal`,
      )
      const within = rows.filter(({ created_at }) => created_at <= span.to)
      if (within.length > 0) yield within.map(({ document }) => document)
      if (within.length < rows.length) break
    }
  }
}

type StoredPermitDocument = { readonly at: number; readonly ordinal: number; readonly document: Uint8Array }

/** A page of one owner's documents, in the order of their times. */
type ReadPermitPage = (
  source: Source,
  owner: number,
  after: Pick<StoredPermitDocument, "at" | "ordinal">,
  to: number,
) => Promise<readonly StoredPermitDocument[]>

const openingPage: ReadPermitPage = (source, owner, { at, ordinal }, to) =>
  source.read(
    async ({ sql }) => sql<StoredPermitDocument[]>`
      select opened_at as at, chain_ordinal as ordinal, opening as document from permit
      where owner = ${owner} and chain_ordinal > 0 and opened_at <= ${to}
        and (opened_at, chain_ordinal) > (${at}, ${ordinal})
      order by opened_at, chain_ordinal limit ${PAGE}`,
  )

const endPage: ReadPermitPage = (source, owner, { at, ordinal }, to) =>
  source.read(
    async ({ sql }) => sql<StoredPermitDocument[]>`
      select ended_at as at, chain_ordinal as ordinal, document from permit_end
      where owner = ${owner} and ended_at <= ${to} and (ended_at, chain_ordinal) > (${at}, ${ordinal})
      order by ended_at, chain_ordinal limit ${PAGE}`,
  )

async function* permitDocuments(source: Source, { from, to }: Span, read: ReadPermitPage) {
  // Who has no permit has no end of one.
  for (let owner = await permitOwnerAfter(source, -1); owner !== undefined; ) {
    for (let after: Pick<StoredPermitDocument, "at" | "ordinal"> | undefined = { at: from, ordinal: -1 }; after; ) {
      const rows: readonly StoredPermitDocument[] = await read(source, owner, after, to)
      if (rows.length > 0) yield rows.map(({ document }) => unpackBundle(document))
      after = rows.length < PAGE ? undefined : rows.at(-1)
    }
    owner = await permitOwnerAfter(source, owner)
  }
}

/** Canonical texts of the openings that were admitted within the span, in pages. */
export const openingsWithin = (source: Source, span: Span): AsyncGenerator<readonly string[]> =>
  permitDocuments(source, span, openingPage)

/** Canonical texts of the ends of permits of the span, in pages. */
export const endsWithin = (source: Source, span: Span): AsyncGenerator<readonly string[]> =>
  permitDocuments(source, span, endPage)

/** Canonical texts of the admin events that were sealed within the span, in pages. There are few, in the order of their times. */
export async function* eventsWithin(source: Source, { from, to }: Span): AsyncGenerator<readonly string[]> {
  for (let after: number | undefined = 0; after !== undefined; ) {
    const last: number = after
    const rows = await source.read(
      async ({ sql }) => sql<{ ordinal: number; document: Uint8Array }[]>`
        select ordinal, document from admin_event
        where ordinal > ${last} and sealed_at >= ${from} and sealed_at <= ${to} order by ordinal limit ${PAGE}`,
    )
    if (rows.length > 0) yield rows.map(({ document }) => unpackBundle(document))
    after = rows.length < PAGE ? undefined : rows.at(-1)?.ordinal
  }
}

const permitOwnerAfter = (source: Source, owner: number): Promise<number | undefined> =>
  source.read(async ({ sql }) => {
    const [row] = await sql<{ owner: number | null }[]>`select min(owner) as owner from permit where owner > ${owner}`
    return row?.owner ?? undefined
  })

const ownerAfter = (
  source: Source,
  owner: number,
): Promise<{ readonly owner: number; readonly newest: number } | undefined> =>
  source.read(async ({ sql }) => {
    const [row] = await sql<{ owner: number; newest: number }[]>`
      select owner, owner_ordinal as newest from attestation where owner = (
        select min(owner) from attestation where owner > ${owner}) order by owner_ordinal desc limit 1`
    return row
  })

/** The smallest of 1 … newest whose time is `from` or later; newest + 1 when there is none. Times rise with the numbers, nearly. */
async function firstSince(
  newest: number,
  from: number,
  timeOf: (number: number) => Promise<number | undefined>,
): Promise<number> {
  let [low, high] = [1, newest + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const time = await timeOf(middle)
    if (time === undefined || time < from) low = middle + 1
    else high = middle
  }
  return low
}
