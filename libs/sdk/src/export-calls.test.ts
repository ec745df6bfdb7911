/** The export of a service, or of something in its place that does not behave. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { API_KEY, type Service, startService } from "../test/scripted-service.ts"
import {
  AbortedError,
  type Client,
  createClient,
  NetworkError,
  ProtocolError,
  TimeoutError,
  UnauthorizedError,
  UnavailableError,
  verifyExport,
} from "./index.ts"

let service: Service
let client: Client
let lines: readonly string[]
beforeAll(async () => {
  service = await startService()
  client = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY })
  lines = await all(client.exportRuns())
})
afterAll(() => service.stop())
beforeEach(() => {
  service.asked.splice(0)
  service.faults.splice(0)
})

async function all(given: AsyncIterable<string>): Promise<string[]> {
  const got: string[] = []
  for await (const line of given) got.push(line)
  return got
}
const trust = (): string => JSON.stringify(service.deployment.trustDocument)

test("an export is the statement and every record, and verifies as complete", async () => {
  expect(lines).toHaveLength(8)
  expect(await verifyExport(lines, [trust()])).toMatchObject({
    verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED",
    records: 7,
    problems: [],
  })
  expect(await verifyExport([...lines, ""], [trust()])).toMatchObject({ problem_count: 0 })
})

test("what is missing is named; what is no export is unreadable; without trust it fails", async () => {
  const found = await verifyExport(lines.toSpliced(3, 1), [trust()])
  expect(found).toMatchObject({ verdict: "FAILED", problems: [{ tenant_ordinal: 3 }] })
  expect(await verifyExport([], [trust()])).toHaveProperty("unreadable")
  expect(await verifyExport(["{}"], [trust()])).toHaveProperty("unreadable")
  expect(await verifyExport(lines, [])).toMatchObject({ verdict: "FAILED" })
  await expect(verifyExport(lines, ["{}"])).rejects.toThrow("trust")
})

test("the range is sent, encoded; nothing is sent before the loop begins", async () => {
  const range = client.exportRuns({ from: "2026-01-01T00:00:00+01:00", to: "2026-02-01T00:00:00Z" })
  expect(service.asked).toEqual([])
  await all(range)
  await all(client.exportRuns())
  expect(service.asked.map(({ path }) => path)).toEqual([
    "/runs/export?from=2026-01-01T00%3A00%3A00%2B01%3A00&to=2026-02-01T00%3A00%3A00Z",
    "/runs/export",
  ])
})

test("a refusal is the error of its status, and the call is not repeated", async () => {
  service.faults.push(response => response.writeHead(503, { "retry-after": "1" }).end('{"ok":false,"error":"Busy."}'))
  await expect(all(client.exportRuns())).rejects.toThrow(UnavailableError)
  await expect(all(createClient({ baseUrl: service.baseUrl }).exportRuns())).rejects.toThrow(UnauthorizedError)
  expect(service.asked).toHaveLength(2)
})

test("an answer in single bytes is read whole; lines are text", async () => {
  const text = `${lines[0]?.slice(0, 3000)}\n{"ü":"\u{1f600}"}\n`
  service.faults.push(response => {
    for (const byte of Buffer.from(text)) response.write(Buffer.of(byte))
    response.end()
  })
  expect(await all(client.exportRuns())).toEqual(text.trimEnd().split("\n"))
  service.faults.push(response => response.end(Buffer.of(0x7b, 0xff, 0x0a)))
  await expect(all(client.exportRuns())).rejects.toThrow(ProtocolError)
})

test("an answer that breaks off, within a line or on the wire, rejects after the lines that came", async () => {
  service.faults.push(response => response.end(`${lines[0]}\n{"kind":`))
  const within = client.exportRuns()
  expect((await within.next()).value).toBe(lines[0])
  await expect(within.next()).rejects.toThrow(ProtocolError)
  service.faults.push(response => {
    response.write(`${lines[0]}\n`, () => setTimeout(() => response.destroy(), 50))
  })
  await expect(all(client.exportRuns())).rejects.toThrow(NetworkError)
})

test("a line that is too long, one that does not come, and a loop that is aborted reject", async () => {
  const small = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY, maxResponseBytes: 1000 })
  await expect(all(small.exportRuns())).rejects.toThrow(ProtocolError)
  service.faults.push(response => void response.write(`${lines[0]}\n`))
  await expect(all(client.exportRuns({}, { timeoutMs: 200 }))).rejects.toThrow(TimeoutError)
  const stop = new AbortController()
  service.faults.push(response => {
    response.write(`${lines[0]}\n`, () => setTimeout(() => stop.abort(), 50))
  })
  await expect(all(client.exportRuns({}, { signal: stop.signal }))).rejects.toThrow(AbortedError)
})

test("a loop that is left ends the request", async () => {
  const ended = new Promise<void>(done => {
    service.faults.push(response => {
      response.on("close", () => done())
      response.write(`${lines[0]}\n`)
    })
  })
  for await (const line of client.exportRuns()) {
    expect(line).toBe(lines[0])
    break
  }
  await ended
})
