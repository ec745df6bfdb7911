/** Lists that are fetched page by page. docs/api.md, "GET /runs"; attestations are listed the same way. */
import type { Route } from "@runseal/api/endpoint"
import type { ListedAttestation } from "@runseal/core/artifacts/attestation-answer"
import type { AttestationsPage } from "@runseal/core/wire/attestation-requests"
import {
  PAGE_LIMIT_DEFAULT,
  PAGE_LIMIT_MAX,
  type RunSummary,
  type RunsPage,
  type RunFilters as WireFilters,
} from "@runseal/core/wire/run-summaries"
import type * as v from "valibot"
import { as, callTo } from "./calls.ts"
import type { Call } from "./exchange.ts"
import type { TimeInput } from "./execute-arguments.ts"
import { type CallOptions, integerWithin, type Settings } from "./settings.ts"
import type { Send } from "./transport.ts"

/** Bounds of a list; the signal, timeout and deadline apply to each page. */
export type PageOptions = CallOptions & {
  /** Items fetched with one request, 1 to 500; 50 when absent. It does not limit the list. */
  readonly pageSize?: number | undefined
  /** Another name of `pageSize`, which is used when both are given. */
  readonly limit?: number | undefined
  /** Items to skip, newest first; 0 when absent. */
  readonly offset?: number | undefined
}

/**
 * The items of a list, newest first: pages are fetched when they are needed, and again by every `for await`. An item that newer ones
 * shifted to the next page is not given twice, and one that moved up, since others left the list, is not passed over.
 */
export type List<Page, Item> = AsyncIterable<Item> & {
  /** The answers that hold the items, each with the `total` of the list. */
  readonly pages: () => AsyncIterable<Page>
  /** The same as the list itself. */
  readonly items: () => AsyncIterable<Item>
}
export type RunList = List<RunsPage, RunSummary>
export type AttestationList = List<AttestationsPage, ListedAttestation>

/** Filters of `search`, all of which a run must fit. Times are both included. */
export type RunFilters = {
  readonly [Name in keyof WireFilters]: (Name extends "from" | "to" ? TimeInput : WireFilters[Name]) | undefined
}

/** How to read the items of a page. */
type Listing<Page, Item> = {
  readonly items: (page: Page) => readonly Item[]
  readonly id: (item: Item) => number | string
}
export const RUN_LISTING: Listing<RunsPage, RunSummary> = { items: page => page.runs, id: run => run.id }
export const ATTESTATION_LISTING: Listing<AttestationsPage, ListedAttestation> = {
  items: page => page.attestations,
  id: attestation => attestation.attestation_id,
}

type FetchPage<Page> = (limit: number, offset: number) => Promise<Page>

/**
 * The list of an endpoint.
 * @param filters beside limit and offset
 * @throws InvalidArgumentError at once, also for a filter that the endpoint does not take
 */
export function listOf<Page extends { readonly total: number }, Item>(
  { send, settings }: { readonly send: Send; readonly settings: Settings },
  route: Route,
  page: v.GenericSchema<unknown, Page>,
  listing: Listing<Page, Item>,
  { filters = {}, ...options }: PageOptions & { readonly filters?: Readonly<Record<string, unknown>> },
): List<Page, Item> {
  const callFor = (place: object): Call => callTo(settings, route, { query: { ...filters, ...place } })
  callFor({})
  return listItems(listing, (limit, offset) => send(callFor({ limit, offset }), as(page), options), options)
}

/** @throws InvalidArgumentError */
export function listItems<Page extends { readonly total: number }, Item>(
  listing: Listing<Page, Item>,
  fetchPage: FetchPage<Page>,
  options: PageOptions,
): List<Page, Item> {
  const limit = integerWithin("pageSize", options.pageSize ?? options.limit ?? PAGE_LIMIT_DEFAULT, 1, PAGE_LIMIT_MAX)
  const offset = integerWithin("offset", options.offset ?? 0, 0, Number.MAX_SAFE_INTEGER)
  const pages = (): AsyncGenerator<Page> => readPages(listing, fetchPage, limit, offset)
  const items = (): AsyncGenerator<Item> => readItems(listing, pages())
  return { [Symbol.asyncIterator]: items, items, pages }
}

async function* readPages<Page extends { readonly total: number }, Item>(
  { items }: Listing<Page, Item>,
  fetchPage: FetchPage<Page>,
  limit: number,
  start: number,
): AsyncGenerator<Page> {
  let offset = start
  let total = 0
  for (;;) {
    const page = await fetchPage(limit, offset)
    const gone = total - page.total
    total = page.total
    if (gone > 0 && offset > start) {
      // As many items as left the list may have moved up past this page, such as permits that were closed.
      offset = Math.max(start, offset - gone)
      continue
    }
    yield page
    const { length } = items(page)
    offset += length
    if (length === 0 || offset >= page.total) return
  }
}

/** Ids that are remembered, the newest: enough unless more items arrive or leave while a list is read. */
const REMEMBERED_MAX = 10_000

async function* readItems<Page, Item>(
  { items, id }: Listing<Page, Item>,
  pages: AsyncIterable<Page>,
): AsyncGenerator<Item> {
  const given = new Set<number | string>()
  for await (const page of pages)
    for (const item of items(page)) {
      if (given.has(id(item))) continue
      given.add(id(item))
      const [oldest] = given
      if (given.size > REMEMBERED_MAX && oldest !== undefined) given.delete(oldest)
      yield item
    }
}
