import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { afterEach, expect, test } from "vitest"
import { type LoadJob, type LoadRequest, load } from "./load.ts"

const servers: ReturnType<typeof createServer>[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`
}

const POST: LoadRequest = { method: "POST", path: "/execute", body: '{"ä":1}', status: 200 }
const job = (url: string, changes: Partial<LoadJob> = {}): LoadJob => ({
  urls: [url],
  requests: [POST],
  secrets: ["one", "two"],
  connections: 3,
  warmSeconds: 0,
  seconds: 0.3,
  ...changes,
})

test("each request is sent whole, keys in turn, and each answer counts once", async () => {
  const seen = new Map<string, number>()
  const url = await serve(async (request, response) => {
    let body = ""
    for await (const chunk of request.setEncoding("utf8")) body += chunk
    const what = `${request.method} ${request.url} ${request.headers["x-service-key"]} ${body}`
    seen.set(what, (seen.get(what) ?? 0) + 1)
    response.end("{}")
  })
  const { answers, p50, slowest } = await load(job(url))
  expect([...seen.keys()].sort()).toEqual(['POST /execute one {"ä":1}', 'POST /execute two {"ä":1}'])
  const sent = [...seen.values()].reduce((sum, count) => sum + count, 0)
  expect(answers).toBeGreaterThan(0)
  expect(answers).toBe(sent)
  expect(slowest).toBeGreaterThanOrEqual(p50)
})

test("a request is followed by another that is made of its answer, with the same key, and both count once", async () => {
  const seen: string[] = []
  const url = await serve((request, response) => {
    seen.push(`${request.url} ${request.headers["x-service-key"]}`)
    response.end('{"id":"a1"}')
  })
  const followedBy = { ...POST, path: "/runs/{}/close", member: "id" }
  const { answers } = await load(job(url, { requests: [{ ...POST, followedBy }], connections: 1, requestsMax: 2 }))
  expect(answers).toBe(2)
  expect(seen).toEqual(["/execute one", "/runs/a1/close one", "/execute two", "/runs/a1/close two"])
})

test("a job ends when so many requests were sent", async () => {
  const url = await serve((_request, response) => response.end("{}"))
  expect((await load(job(url, { seconds: 60, requestsMax: 10 }))).answers).toBe(10)
})

test("answers in chunks and in pieces are read whole", async () => {
  const url = await serve((_request, response) => {
    response.write("x".repeat(70_000))
    setImmediate(() => response.end("\r\n0\r\n\r\n"))
  })
  expect((await load(job(url))).answers).toBeGreaterThan(0)
})

test("an answer with another status ends the load and is shown", async () => {
  const url = await serve((_request, response) => response.writeHead(503, { "Content-Length": 12 }).end('{"ok":false}'))
  await expect(load(job(url))).rejects.toThrow('status 503 where 200 is right: {"ok":false}')
})

test("a connection that the server closes ends the load", async () => {
  const url = await serve((_request, response) => void response.destroy())
  await expect(load(job(url))).rejects.toThrow("closed a connection")
})

test("in an open loop what was due is asked, however long an answer takes, and the wait is latency", async () => {
  let waiting: (() => void)[] = []
  const url = await serve((_request, response) => {
    waiting.push(() => response.end("{}"))
    if (waiting.length < 3) return
    for (const answer of waiting) answer()
    waiting = []
  })
  // Nobody is answered before three have asked: one connection alone would wait for ever.
  const { answers } = await load(job(url, { perSecond: 30, seconds: 0.5 }))
  expect(answers).toBe(15)
})

test("nothing but the loopback address is put under load", async () => {
  await expect(load(job("http://192.0.2.1:80"))).rejects.toThrow("only 127.0.0.1")
})
