/** Exports: seals a statement, then streams the documents it describes, page by page. docs/api.md, "GET /runs/export". */
import { utf8Encode } from "@runseal/canonical"
import { chainPiece } from "@runseal/core/artifacts/export-statement"
import type { Tenant } from "@runseal/core/wire/submission"
import type { Database } from "../store/driver/database.ts"
import { type AdmittedRange, readDocuments, readEarlierOpenings } from "../store/tables/export-reads.ts"
import type { Reads } from "./read-standby.ts"
import { draftExport, type SealedStatement } from "./seal-export-statement.ts"
import type { Sealer } from "./sealer.ts"

/** Most concurrent exports, of all callers and of one: each holds a page of records in memory. */
const EXPORTS_MAX = 8
export const EXPORTS_PER_CALLER_MAX = 4
/** Longest that a page waits to be read, in milliseconds; then the stream is ended. */
const PAGE_DEADLINE_MS = 300_000

type Pages = AsyncIterable<Uint8Array>

export type Exports = {
  /**
   * Seals the statement of a tenant's export and gives its lines, NDJSON: the statement, the openings before the piece whose closes
   * are in it, then the records, openings and ends of the piece in the order of the chain. Undefined when too many exports are under way. A stream that ends early has failed.
   * @param send the form in which they are sent; absent: as they are
   * @throws StoreError when no statement was sealed
   */
  readonly open: (
    tenant: Tenant,
    range: AdmittedRange,
    send?: (lines: Pages) => Pages,
  ) => Promise<ReadableStream<Uint8Array> | undefined>
}

type ExportsContext = {
  readonly db: Database
  readonly reads: Reads
  readonly sealer: Pick<Sealer, "state">
  readonly nowMs: () => number
  /** Makes the texts that are sent from the stored ones. */
  readonly show: (texts: readonly string[]) => Promise<readonly string[]>
  /** Called with the reason when a stream was cut. */
  readonly reportFailure: (error: unknown) => void
}

export function openExports({ db, reads, sealer, nowMs, show, reportFailure }: ExportsContext): Exports {
  const underWay: number[] = []
  const isFull = (owner: number): boolean =>
    underWay.length >= EXPORTS_MAX || underWay.filter(other => other === owner).length >= EXPORTS_PER_CALLER_MAX
  return {
    open: async (tenant, range, send = lines => lines) => {
      const { owner } = tenant
      if (isFull(owner)) return undefined
      underWay.push(owner)
      const end = (): void => void underWay.splice(underWay.indexOf(owner), 1)
      try {
        const clock = new Date(nowMs()).toISOString()
        const statement = await sealer.state(await draftExport(db, tenant, clock, range))
        return streamOf(send(pagesOf({ reads, show }, owner, statement)), end, reportFailure)
      } catch (error) {
        end()
        throw error
      }
    },
  }
}

/** The lines of an export. Sealed records never change, so that no transaction is held while they are sent. */
async function* pagesOf(
  { reads, show }: Pick<ExportsContext, "reads" | "show">,
  owner: number,
  { document, text }: SealedStatement,
): AsyncGenerator<Uint8Array> {
  yield utf8Encode(`${text}\n`)
  const piece = chainPiece(document.leaf)
  if (piece === undefined) return
  const span = { first: piece.first_ordinal, last: piece.last_ordinal }
  for (let after = 0; after < span.first - 1; ) {
    // A permit gets its close: a standby that lags would lack openings, and would not say so.
    const openings = await reads.growing(source => readEarlierOpenings(source, owner, span, after))
    const newest = openings.at(-1)
    if (newest === undefined) break
    yield linesOf(openings.map(opening => opening.text))
    after = newest.ordinal
  }
  for (let { first } = span; first <= span.last; ) {
    const documents = await reads.immutable(source => readDocuments(source, owner, { ...span, first }))
    yield linesOf(await show(documents))
    first += documents.length
  }
}

const linesOf = (texts: readonly string[]): Uint8Array => utf8Encode(texts.map(text => `${text}\n`).join(""))

/** Reads a page once the client has read the one before. @param end called once, however the stream ends */
function streamOf(source: Pages, end: () => void, reportFailure: (error: unknown) => void): ReadableStream<Uint8Array> {
  const pages = source[Symbol.asyncIterator]()
  let deadline: NodeJS.Timeout | undefined
  let ended = false
  const finish = (): void => {
    clearTimeout(deadline)
    if (!ended) end()
    ended = true
  }
  /** What is under way for the next page stops by itself. */
  const leave = (): void => {
    finish()
    pages.return?.().catch(() => undefined)
  }
  const expect = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    deadline = setTimeout(() => {
      leave()
      controller.error(new Error("an export was not read any more"))
    }, PAGE_DEADLINE_MS).unref()
  }
  return new ReadableStream(
    {
      start: expect,
      pull: async controller => {
        clearTimeout(deadline)
        try {
          const page = await pages.next()
          if (ended) return
          if (page.done) {
            finish()
            controller.close()
          } else {
            controller.enqueue(page.value)
            expect(controller)
          }
        } catch (error) {
          if (ended) return
          finish()
          reportFailure(error)
          controller.error(error)
        }
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}
