/**
 * The sealed documents of all tenants in the order of the log: what events are made of. A document's place is the log index of the entry of
 * its leaf. Runs have no column for it, because their numbers rise with it: a place is found among them by bisection.
 */
import type { Source } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { unpackBundle } from "./bundle-text.ts"
import type { RunRow } from "./runs-table.ts"

/** What every document of the stream has. */
type Place = {
  readonly log_index: number
  readonly owner: number
  /** In the owner's chain. */
  readonly chain_ordinal: number
  readonly leaf_digest: string
  /** RFC 8785 text of the document. */
  readonly text: string
}
export type StreamRun = Place & { readonly kind: "run" } & Pick<RunRow, "findings" | "manifest_hash">
/** Of admin events the owner is 0. */
export type StreamDocument = StreamRun | (Place & { readonly kind: OtherKind })
type OtherKind = "opening" | "end" | "admin_event"

/** A place in the stream. `run_id`, where it is known, is the first run at or after it: with it no run is searched for. */
export type StreamPlace = { readonly position: number; readonly run_id?: number }

export type StreamPage = {
  readonly documents: readonly StreamDocument[]
  /** Where the next page begins. */
  readonly next: StreamPlace
}

/** Documents of one page: at their largest, which the largest request makes, some 20 MB each. */
const STREAM_PAGE = 32

/** Reads the log index of the entry of a run's complete record. @throws an error of the caller's for a text that is no record */
export type LogIndexOf = (bundle: string) => number

/**
 * The next documents from a place on. What is committed below `end` never changes, so the statements need no common snapshot.
 * @param end entries of the log, as read before
 */
export async function readStream(
  source: Source,
  from: StreamPlace,
  end: number,
  logIndexOf: LogIndexOf,
): Promise<StreamPage> {
  const firstRun = from.run_id ?? (await firstRunFrom(source, from.position, logIndexOf))
  const runs = (await runsFrom(source, firstRun, logIndexOf)).filter(({ log_index }) => log_index < end)
  const others = await othersFrom(source, from.position, end)
  const merged = [...runs, ...others].toSorted((one, other) => one.log_index - other.log_index)
  const documents = merged.slice(0, STREAM_PAGE)
  const last = documents.at(-1)
  // A page that is not full has everything up to the end.
  const position = documents.length < STREAM_PAGE || last === undefined ? end : last.log_index + 1
  const run_id = firstRun + documents.filter(({ kind }) => kind === "run").length
  return { documents, next: { position, run_id } }
}

type StoredRun = Pick<RunRow, "run_id" | "owner" | "chain_ordinal" | "leaf_digest" | "findings" | "manifest_hash"> & {
  readonly bundle: Uint8Array
}

function runsFrom(source: Source, first: number, logIndexOf: LogIndexOf): Promise<readonly StreamRun[]> {
  return source.read(async ({ sql }) => {
    const rows = await sql<StoredRun[]>`
      select run_id, owner, chain_ordinal, leaf_digest, findings, manifest_hash, bundle from run
      where run_id >= ${first} order by run_id limit ${STREAM_PAGE}::bigint`
    return rows.map(({ run_id: _, bundle, ...row }) => {
      const text = unpackBundle(bundle)
      return { ...row, kind: "run", text, log_index: logIndexOf(text) }
    })
  })
}

type StoredOther = Omit<Place, "text"> & { readonly kind: OtherKind; readonly document: Uint8Array }

function othersFrom(source: Source, from: number, end: number): Promise<readonly StreamDocument[]> {
  return source.read(async ({ sql }) => {
    const rows = await sql<StoredOther[]>`
      select * from (
        (select 'opening' as kind, log_index, owner, chain_ordinal, leaf_digest, opening as document from permit
         where chain_ordinal > 0 and log_index >= ${from} and log_index < ${end}
         order by log_index limit ${STREAM_PAGE}::bigint)
        union all
        (select 'end', log_index, owner, chain_ordinal, leaf_digest, document from permit_end
         where log_index >= ${from} and log_index < ${end}
         order by log_index limit ${STREAM_PAGE}::bigint)
        union all
        (select 'admin_event', log_index, 0, ordinal, leaf_digest, document from admin_event
         where sealed_at > 0 and log_index >= ${from} and log_index < ${end}
         order by log_index limit ${STREAM_PAGE}::bigint)
      ) as others order by log_index limit ${STREAM_PAGE}::bigint`
    return rows.map(({ document, ...place }) => ({ ...place, text: unpackBundle(document) }))
  })
}

/** The first run whose record is at this log index or later; the number of the next run when there is none. */
async function firstRunFrom(source: Source, position: number, logIndexOf: LogIndexOf): Promise<number> {
  const [head] = await source.read(({ sql }) => sql<{ next_run_id: number }[]>`select next_run_id from log_head`)
  let [low, high] = [1, head?.next_run_id ?? 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const [found] = await source.read(
      ({ sql }) => sql<{ bundle: Uint8Array }[]>`select bundle from run where run_id = ${middle}`,
    )
    if (found === undefined) throw new StoreError("corrupt")
    if (logIndexOf(unpackBundle(found.bundle)) < position) low = middle + 1
    else high = middle
  }
  return low
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
