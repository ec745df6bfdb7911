/**
 * Every sealed document, as it was anchored. Lists and searches have tables of their own, with what they show: a row there names its document by
 * its place in the log. Exports, events and the documents of a time are read from here alone. Rows are never changed or deleted.
 */
import { sql as fragment } from "drizzle-orm"
import { index, pgTable, text, uniqueIndex } from "drizzle-orm/pg-core"
import { insertRows, type Source, type Tx } from "../driver/session.ts"
import { unpackBundle } from "./bundle-text.ts"
import { number, packedBundle, type RowOf } from "./column-types.ts"

export const document = pgTable(
  "document",
  {
    /** Of the entry of its leaf; of a run, of its complete record. */
    log_index: number().primaryKey(),
    /** Id of the API key whose document it is; 0 = anonymous, -1 = the deployment. */
    owner: number(),
    /** Its `tenant_ordinal`: 1, 2, 3 … without a gap within the owner's chain; 0 for an attestation, which is in no chain. */
    chain_ordinal: number(),
    /** As reports name it: `bundle`, `opening`, … */
    kind: text().notNull(),
    /** Milliseconds since the epoch: when a run or an opening was admitted, and when anything else was sealed. */
    instant: number(),
    /** Digest of its leaf: what the next document of the chain names as its predecessor. */
    leaf_digest: text().notNull(),
    /** The document's RFC 8785 text. */
    packed: packedBundle().notNull(),
  },
  table => [
    uniqueIndex("document_chain").on(table.owner, table.chain_ordinal).where(fragment`${table.chain_ordinal} > 0`),
    index("document_instant")
      .on(table.owner, table.instant, table.chain_ordinal)
      .where(fragment`${table.chain_ordinal} > 0`),
    // The few documents of a chain that are no records, which a statement counts.
    index("document_other").on(table.owner, table.kind, table.chain_ordinal).where(fragment`${table.kind} <> 'bundle'`),
  ],
)

export type DocumentRow = RowOf<typeof document>

/** A document to be stored, packed. */
export type NewDocumentRow = Omit<DocumentRow, "packed"> & { readonly packed: Uint8Array }

/** Stores documents. */
export const insertDocuments = (tx: Tx, documents: readonly NewDocumentRow[]): Promise<void> =>
  insertRows(tx, document, documents)

/** Milliseconds since the epoch, both included. */
export type Span = { readonly from: number; readonly to: number }

/** Documents of one page: at their largest, which the largest request makes, some 20 MB. */
const PAGE = 16

/** A document by its kind, and its RFC 8785 text. */
export type SealedText = Pick<DocumentRow, "kind"> & { readonly text: string }

/** The documents whose leaves were logged within the span, in the order of the log: in pages, each of which is one read. */
export async function* documentsWithin(source: Source, { from, to }: Span): AsyncGenerator<readonly SealedText[]> {
  const end = await firstEntrySince(source, Math.floor(to / 1000) + 1)
  for (let first = await firstEntrySince(source, Math.ceil(from / 1000)); ; ) {
    const at = first
    const rows = await source.read(
      async ({ sql }) => sql<(Pick<DocumentRow, "log_index" | "kind"> & { readonly packed: Uint8Array })[]>`
        select log_index, kind, packed from document where log_index >= ${at} and log_index < ${end}
        order by log_index limit ${PAGE}`,
    )
    if (rows.length > 0) yield rows.map(({ kind, packed }) => ({ kind, text: unpackBundle(packed) }))
    const last = rows.at(-1)
    if (rows.length < PAGE || last === undefined) return
    first = last.log_index + 1
  }
}

/** The first entry of the log whose time is this or later, in Unix seconds; the size of the log when there is none. Times never go back. */
function firstEntrySince(source: Source, time: number): Promise<number> {
  return source.read(async ({ sql }) => {
    const [head] = await sql<{ size: number }[]>`select size from log_head`
    let [low, high] = [0, head?.size ?? 0]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const [entry] = await sql<{ integrated_time: number }[]>`
        select integrated_time from log_entry where log_index = ${middle}`
      if (entry === undefined || entry.integrated_time < time) low = middle + 1
      else high = middle
    }
    return low
  })
}
