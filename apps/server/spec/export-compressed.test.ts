/** `GET /runs/export` for a client that asks for a compressed answer, and over a socket for one that is cut off. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { Readable } from "node:stream"
import { gunzipSync, zstdDecompressSync } from "node:zlib"
import { createClient } from "@runseal/sdk"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../src/app.ts"
import { EXPORTS_PER_CALLER_MAX } from "../src/sealing/exports.ts"
import { listenOn } from "./harness/raw-socket.ts"
import { fullRequest, request } from "./harness/sample-requests.ts"
import { openService, standingService, type TestService } from "./harness/test-service.ts"

const RECORDS = 40
const DECODE = { gzip: gunzipSync, zstd: zstdDecompressSync } as const
const isCompression = (coding: string | null): coding is keyof typeof DECODE => coding === "gzip" || coding === "zstd"

const ask = (service: TestService, coding?: string, method = "GET", query = ""): Promise<Response> =>
  Promise.resolve(
    createApp(service.deps).request(`/runs/export${query}`, {
      method,
      headers: coding === undefined ? {} : { "Accept-Encoding": coding },
    }),
  )

/** The answer's bytes, and its lines; its statement is given to the check of the house. */
async function received(service: TestService, response: Response) {
  const coding = response.headers.get("content-encoding")
  const bytes = Buffer.from(await response.arrayBuffer())
  const text = (isCompression(coding) ? DECODE[coding](bytes) : bytes).toString()
  const lines = text.trimEnd().split("\n")
  service.statements.push(lines[0] ?? "")
  return { coding, bytes, records: lines.slice(1) }
}

describe("an export", () => {
  const service = standingService()
  let plain: readonly string[] = []
  let size = 0
  const logSize = async (): Promise<string | undefined> => (await service().get("/log/checkpoint")).text.split("\n")[1]

  beforeAll(async () => {
    for (let at = 0; at < RECORDS; at++) await service().execute(fullRequest({ payload: `Approve invoice ${at}.` }))
    const { records, bytes } = await received(service(), await ask(service()))
    plain = records
    size = bytes.length
  })

  test.each([
    ["gzip", "gzip"],
    ["x-gzip", "gzip"],
    ["gzip, deflate", "gzip"],
    ["gzip, deflate, br", "gzip"],
    ["*", "gzip"],
    ["identity;q=0, gzip;q=0.5", "gzip"],
    ["zstd;q=0.5, gzip", "gzip"],
    ["zstd", "zstd"],
    ["gzip, deflate, br, zstd", "zstd"],
    ["zstd;q=0.5, *;q=0.1", "zstd"],
  ])("to a client that sends %j comes with %s, with the same records", async (field, coding) => {
    const response = await ask(service(), field)
    expect(response.headers.get("vary")).toBe("Accept-Encoding")
    expect(response.headers.get("content-type")).toBe("application/x-ndjson")
    expect(response.headers.get("content-disposition")).toBe('attachment; filename="runseal-export.ndjson"')
    expect(response.headers.get("content-length")).toBeNull()
    const answer = await received(service(), response)
    expect(answer.coding).toBe(coding)
    expect(answer.records).toEqual(plain)
    expect(answer.bytes.length).toBeLessThan(size / 3)
  })

  test.each([undefined, "", "identity", "br", "gzip;q=0", "zstd;q=0.1, identity", "zstd;q=0, gzip;q=0, *"])(
    "to a client that sends %j comes plain",
    async field => {
      const response = await ask(service(), field)
      expect(response.headers.get("vary")).toBe("Accept-Encoding")
      const answer = await received(service(), response)
      expect(answer.coding).toBeNull()
      expect(answer.records).toEqual(plain)
    },
  )

  test.each(["identity;q=0", "*;q=0", "br, *;q=0", "zstd;q=0, gzip;q=0, identity;q=0"])(
    "to a client that sends %j is refused, and nothing is sealed",
    async field => {
      const before = await logSize()
      for (const method of ["GET", "HEAD"]) {
        const response = await ask(service(), field, method)
        expect(response.status).toBe(406)
        expect(response.headers.get("vary")).toBe("Accept-Encoding")
      }
      expect(await (await ask(service(), field)).json()).toMatchObject({
        code: "not_acceptable",
        error: "An export is sent plain, with gzip or zstd.",
      })
      expect(await logSize()).toBe(before)
    },
  )

  test("has the same head for HEAD, without a statement", async () => {
    const before = await logSize()
    for (const coding of ["gzip", "zstd"]) {
      const { status, headers, body } = await ask(service(), coding, "HEAD")
      expect([status, body]).toEqual([200, null])
      expect(headers.get("content-encoding")).toBe(coding)
      expect(headers.get("vary")).toBe("Accept-Encoding")
    }
    expect(await logSize()).toBe(before)
  })

  test("of no record is whole in every form", async () => {
    for (const coding of ["gzip", "zstd", "identity"]) {
      const response = await ask(service(), coding, "GET", "?to=2020-01-01T00:00:00Z")
      expect((await received(service(), response)).records).toEqual([])
    }
  })

  test("comes compressed to the client library, which gives the same texts", async () => {
    const listening = await listenOn(service())
    try {
      const codings: (string | null)[] = []
      const fetchSeen: typeof fetch = async (...args) => {
        const response = await fetch(...args)
        codings.push(response.headers.get("content-encoding"))
        return response
      }
      const client = createClient({ baseUrl: listening.url, fetch: fetchSeen })
      const [statement = "", ...records] = await Readable.from(client.exportRuns()).toArray()
      service().statements.push(statement)
      expect(records).toEqual(plain)
      expect(codings).toEqual(["gzip"])
    } finally {
      await listening.stop()
    }
  })
})

describe("an export that has no end", () => {
  let service: TestService
  let address = ""
  let listening: Awaited<ReturnType<typeof listenOn>>

  beforeAll(async () => {
    service = await openService()
    listening = await listenOn(service)
    address = `${listening.url}/runs/export`
    for (let at = 0; at < RECORDS; at++) await service.execute(request())
  })
  afterAll(async () => {
    await listening.stop()
    await service.close()
  })

  test.each(["gzip", "zstd"])("because its client leaves frees its place, with %s", async coding => {
    for (let round = 0; round <= EXPORTS_PER_CALLER_MAX; round++) {
      const response = await ask(service, coding)
      expect(response.status).toBe(200)
      const reader = response.body!.getReader()
      expect((await reader.read()).done).toBe(false)
      await reader.cancel()
    }
  })

  test("because a record in its middle is gone is broken for every client, however it is sent", async () => {
    await service.db
      .sql`delete from document where log_index = (select log_index from run where run_id = ${RECORDS - 2})`
    for (const coding of ["gzip", "zstd", "identity"]) {
      const { exit, bytes } = await curl("--header", `Accept-Encoding: ${coding}`, address)
      expect(exit).toBe(CURL_PARTIAL)
      if (isCompression(coding)) expect(() => DECODE[coding](bytes)).toThrow()
    }
    expect((await curl("--compressed", address)).exit).toBe(CURL_PARTIAL)
    await expect(fetch(address).then(response => response.text())).rejects.toThrow("terminated")
    const client = createClient({ baseUrl: listening.url })
    await expect(Readable.from(client.exportRuns()).toArray()).rejects.toMatchObject({ name: "NetworkError" })
    expect(service.logLines.filter(line => line.includes("an export was cut off"))).toHaveLength(6)
  })
})

/** curl's exit code for an answer that ended before its end. */
const CURL_PARTIAL = 18

async function curl(...options: readonly string[]) {
  const child = spawn("curl", ["--silent", "--max-time", "60", ...options], { stdio: ["ignore", "pipe", "ignore"] })
  const ended = once(child, "close")
  const bytes = Buffer.concat(await child.stdout.toArray())
  const [exit] = await ended
  return { exit, bytes }
}
