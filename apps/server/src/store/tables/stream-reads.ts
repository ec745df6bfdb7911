/** The sealed documents of all tenants in the order of the log: what events are made of. A document's place is the log index of the entry of its leaf. */
import type { Source } from "../driver/session.ts"
import { unpackBundle } from "./bundle-text.ts"
import type { DocumentRow } from "./documents-table.ts"
import type { NewRunRow } from "./runs-table.ts"

/** What every document of the stream has. Of admin events the owner is 0. */
type Place = Pick<DocumentRow, "log_index" | "owner" | "chain_ordinal" | "leaf_digest"> & {
  /** RFC 8785 text of the document. */
  readonly text: string
}
/** Of a document that is no run, findings and manifest hash are empty. */
export type StreamDocument = Place & Pick<DocumentRow, "kind"> & Pick<NewRunRow, "findings" | "manifest_hash">

export type StreamPage = {
  readonly documents: readonly StreamDocument[]
  /** Where the next page begins: everything before it was read. */
  readonly next: number
}

/** Documents of one page: at their largest, which the largest request makes, some 20 MB each. */
const STREAM_PAGE = 32

type Stored = Omit<DocumentRow, "instant" | "packed"> & {
  readonly packed: Uint8Array
  readonly findings: string | null
  readonly manifest_hash: string | null
}

/**
 * The next documents from a place on. What is committed below `end` never changes. Of attestations there are no events: a page of them has
 * no document.
 * @param end entries of the log, as read before
 */
export async function readStream(source: Source, from: number, end: number): Promise<StreamPage> {
  const rows = await source.read(
    ({ sql }) => sql<Stored[]>`
      select document.log_index, greatest(document.owner, 0)::bigint as owner, chain_ordinal, kind, leaf_digest,
        case when kind = 'attestation' then ''::bytea else packed end as packed, findings, manifest_hash
      from document left join run on kind = 'bundle' and run.log_index = document.log_index
      where document.log_index >= ${from} and document.log_index < ${end}
      order by document.log_index limit ${STREAM_PAGE}::bigint`,
  )
  const last = rows.at(-1)
  // A page that is not full has everything up to the end.
  const next = rows.length < STREAM_PAGE || last === undefined ? end : last.log_index + 1
  return { documents: rows.flatMap(documentOf), next }
}

function documentOf({ kind, packed, findings, manifest_hash, ...place }: Stored): readonly StreamDocument[] {
  if (kind === "attestation") return []
  const text = unpackBundle(packed)
  return [{ ...place, kind, text, findings: findings ?? "", manifest_hash: manifest_hash ?? "" }]
}

/** What is to be delivered: the size of the log, and when the entry at a position was appended, in Unix seconds. */
export type StreamHead = { readonly size: number; readonly times: ReadonlyMap<number, number> }

/** The size of the log, and the times of its entries at these positions, as far as there are such entries. */
export function readStreamHead(source: Source, positions: readonly number[]): Promise<StreamHead> {
  return source.read(async ({ sql }) => {
    const [head] = await sql<{ size: number }[]>`select size from log_head`
    const rows = await sql<{ log_index: number; integrated_time: number }[]>`
      select log_index, integrated_time from log_entry
      where log_index in (select value::bigint from json_array_elements_text(${JSON.stringify(positions)}::text::json))`
    return {
      size: head?.size ?? 0,
      times: new Map(rows.map(({ log_index, integrated_time }) => [log_index, integrated_time])),
    }
  })
}
