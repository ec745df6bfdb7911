import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { API_KEY, type Service, startService } from "../test/scripted-service.ts"
import {
  type Client,
  createClient,
  InvalidArgumentError,
  OUTCOME_KINDS,
  type RunList,
  type RunSummary,
  type RunsPage,
} from "./index.ts"
import { listItems, RUN_LISTING } from "./list-pages.ts"

let service: Service
let client: Client
beforeAll(async () => {
  service = await startService()
  client = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY })
})
afterAll(() => service.stop())
beforeEach(() => void service.asked.splice(0))

const idsOf = async (runs: RunList): Promise<number[]> => {
  const ids: number[] = []
  for await (const run of runs) ids.push(run.id)
  return ids
}
const paths = (): string[] => service.asked.map(({ path }) => path)

test("a loop over runs gives them one by one, newest first", async () => {
  const ids: number[] = []
  for await (const run of client.runs()) ids.push(run.id)
  expect(ids).toEqual([7, 6, 5, 4, 3, 2, 1])
  expect(paths()).toEqual(["/runs?limit=50&offset=0"])
})

test("pages gives the answers, each with the total", async () => {
  const pages: RunsPage[] = []
  for await (const page of client.runs({ pageSize: 3 }).pages()) pages.push(page)
  expect(pages.map(({ total }) => total)).toEqual([7, 7, 7])
  expect(pages.map(({ runs }) => runs.map(run => run.id))).toEqual([[7, 6, 5], [4, 3, 2], [1]])
  expect(paths()).toEqual(["/runs?limit=3&offset=0", "/runs?limit=3&offset=3", "/runs?limit=3&offset=6"])
})

test("the size of a page does not limit the list, whatever it is called, and the offset skips items", async () => {
  expect(await idsOf(client.runs({ pageSize: 2, offset: 1 }))).toEqual([6, 5, 4, 3, 2, 1])
  expect(await idsOf(client.runs({ limit: 2, offset: 1 }))).toEqual([6, 5, 4, 3, 2, 1])
  expect(new Set(paths().map(path => /limit=(\d+)/.exec(path)?.[1]))).toEqual(new Set(["2"]))
})

test("a page is fetched only when it is wanted, and every loop begins anew", async () => {
  const runs = client.runs({ pageSize: 2 })
  expect(paths()).toEqual([])
  for (const _ of [1, 2]) for await (const run of runs.items()) if (run.id === 7) break
  expect(paths()).toEqual(["/runs?limit=2&offset=0", "/runs?limit=2&offset=0"])
})

test("search sends the filters it is given, encoded", async () => {
  const status = "ccv_halt"
  expect(await idsOf(client.search({ status }))).toEqual([OUTCOME_KINDS.indexOf(status) + 1])
  await idsOf(client.search({ from: new Date("2026-01-01T00:00:00Z"), to: undefined }))
  await idsOf(client.search({ route_id: "a&b=c/é", from: "2026-01-01T00:00:00Z", manifest_hash: "0a" }))
  expect(paths()).toEqual([
    "/runs/search?status=ccv_halt&limit=50&offset=0",
    "/runs/search?from=2026-01-01T00%3A00%3A00.000Z&limit=50&offset=0",
    "/runs/search?route_id=a%26b%3Dc%2F%C3%A9&from=2026-01-01T00%3A00%3A00Z&manifest_hash=0a&limit=50&offset=0",
  ])
})

test.each([{ pageSize: 0 }, { pageSize: 501 }, { limit: 1.5 }, { offset: -1 }])("%o is refused at once", options => {
  expect(() => client.runs(options)).toThrow(InvalidArgumentError)
  expect(() => client.search({}, options)).toThrow(InvalidArgumentError)
})

test("a filter that the endpoint does not take, or no address can carry, is refused at once", () => {
  expect(() => client.search({ route_id: "\udc00" })).toThrow(InvalidArgumentError)
  expect(() => client.search({ from: "soon" })).toThrow("from must be an RFC 3339 timestamp")
  expect(() => client.search({ from: new Date("soon") })).toThrow("from is an invalid date.")
})

const summary = (id: number): RunSummary => ({
  id,
  created_at: "2026-01-15T12:00:00.000Z",
  program_id: "a".repeat(64),
  route_id: "claims",
  manifest_hash: "",
  duration_ms: 1,
  status: "ok",
  outcome_kind: "ok",
  error_stage: "",
  execution_region: "local",
})

test("a run that newer runs shift to the next page is given once", async () => {
  const ids = [5, 4, 3, 2, 1]
  const growing = listItems(
    RUN_LISTING,
    async (limit, offset) => {
      const runs = ids.slice(offset, offset + limit).map(summary)
      const page = { ok: true, total: ids.length, limit, offset, runs } as const
      if (offset === 0) ids.unshift(6)
      return page
    },
    { limit: 2 },
  )
  expect(await idsOf(growing)).toEqual([5, 4, 3, 2, 1])
})

test.each([1, 2, 3])(
  "items that leave the list while it is read move no other past the reader, pages of %i",
  async pageSize => {
    const open = [9, 8, 7, 6, 5, 4, 3, 2, 1]
    const shrinking = listItems(
      RUN_LISTING,
      async (limit, offset) => {
        const runs = open.slice(offset, offset + limit).map(summary)
        return { ok: true, total: open.length, limit, offset, runs } as const
      },
      { pageSize },
    )
    const ids: number[] = []
    for await (const { id } of shrinking) {
      ids.push(id)
      open.splice(open.indexOf(id), 1)
      // One that was not read yet leaves too, and a new one comes.
      if (id === 7) open.splice(open.indexOf(2), 1, 2)
      if (id === 6) open.splice(open.indexOf(3), 1)
      if (id === 5) open.unshift(10)
    }
    expect(ids.filter(id => id !== 10)).toEqual([9, 8, 7, 6, 5, 4, 2, 1])
  },
)

test("an empty page ends the list whatever the total says", async () => {
  let fetched = 0
  const lying = listItems(
    RUN_LISTING,
    async (limit, offset) => {
      fetched++
      return { ok: true, total: 1000, limit, offset, runs: [] } as const
    },
    {},
  )
  expect(await idsOf(lying)).toEqual([])
  expect(fetched).toBe(1)
})
