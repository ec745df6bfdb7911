/** Lists of runs, page by page. Interface specification, "GET /runs and GET /runs/search". */
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, type RunSummary, type RunsPage } from "@runseal/core/wire/runs"
import { type CallOptions, integerWithin } from "./settings.ts"

/** Bounds of a list; the signal, timeout and deadline hold for each page. */
export type PageOptions = CallOptions & {
  /** Runs of one page, 1 to 500; 50 when absent. */
  readonly limit?: number | undefined
  /** Runs to pass over, newest first; 0 when absent. */
  readonly offset?: number | undefined
}

/** A list of runs, newest first. Every `for await` reads it anew; a page is fetched when it is wanted. */
export type RunPages = AsyncIterable<RunsPage> & {
  /** Its runs one by one. Runs that newer ones pushed onto the next page meanwhile are not given twice. */
  readonly items: () => AsyncIterable<RunSummary>
}

type FetchPage = (limit: number, offset: number) => Promise<RunsPage>

/** @throws InvalidArgumentError */
export function runPages(fetchPage: FetchPage, options: PageOptions): RunPages {
  const limit = integerWithin("limit", options.limit ?? PAGE_LIMIT_DEFAULT, 1, PAGE_LIMIT_MAX)
  const offset = integerWithin("offset", options.offset ?? 0, 0, Number.MAX_SAFE_INTEGER)
  const pages = (): AsyncGenerator<RunsPage> => readPages(fetchPage, limit, offset)
  return { [Symbol.asyncIterator]: pages, items: () => readRuns(pages()) }
}

async function* readPages(fetchPage: FetchPage, limit: number, start: number): AsyncGenerator<RunsPage> {
  let offset = start
  for (;;) {
    const page = await fetchPage(limit, offset)
    yield page
    offset += page.runs.length
    if (page.runs.length === 0 || offset >= page.total) return
  }
}

/** Remembers one page of ids: enough unless more than a page of runs came between two pages. */
async function* readRuns(pages: AsyncIterable<RunsPage>): AsyncGenerator<RunSummary> {
  let given: ReadonlySet<number> = new Set()
  for await (const { runs } of pages) {
    for (const run of runs) if (!given.has(run.id)) yield run
    given = new Set(runs.map(run => run.id))
  }
}
