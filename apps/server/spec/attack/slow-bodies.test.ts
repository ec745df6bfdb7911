/** Who asks for much and reads little holds one answer and one connection, for a bounded time; others are served meanwhile. */
import type { Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, describe, expect, test } from "vitest"
import { CONNECTION_LIMITS, type ConnectionLimits, type Listening, listen } from "../../src/http/listen.ts"
import { PIPELINED_MAX } from "../../src/http/socket-refusals.ts"
import { dial, exchange, statusesIn } from "../harness/raw-socket.ts"
import { until } from "../harness/until.ts"

const opened: Listening[] = []
const sockets: Socket[] = []
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await Promise.all(opened.map(({ stop }) => stop()))
})

/** More than the socket buffers of the system hold for a client that does not read. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, "x")
const get = (path: string, headers = ""): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`
const CLOSE = "Connection: close\r\n"

/** A server of answers that are too large for anybody's buffer, and of small ones; counts those it is asked for at a time. */
async function serving(limits: Partial<ConnectionLimits> = {}) {
  const seen = { asked: 0, atOnce: 0, most: 0, letGo: 0 }
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url)
    if (pathname === "/small") return new Response("small")
    seen.asked++
    request.signal.addEventListener("abort", () => seen.letGo++)
    seen.atOnce++
    seen.most = Math.max(seen.most, seen.atOnce)
    await sleep(1)
    seen.atOnce--
    return new Response(LARGE)
  }
  const listening = await listen({ fetch, host: "127.0.0.1", port: 0, limits: { ...CONNECTION_LIMITS, ...limits } })
  opened.push(listening)
  return { listening, seen }
}

/** A connection whose answers nobody reads. */
function deaf(to: Listening, bytes: string): Socket {
  const socket = dial(to).on("error", () => undefined)
  sockets.push(socket)
  socket.pause()
  socket.write(bytes)
  return socket
}

const closed = (socket: Socket): Promise<void> => new Promise(done => socket.resume().once("close", () => done()))

describe("a connection that asks on without reading", () => {
  test("has one answer made at a time, and none after the one it does not read", async () => {
    const { listening, seen } = await serving()
    deaf(listening, get("/large").repeat(PIPELINED_MAX))
    expect(statusesIn(await exchange(listening, get("/small", CLOSE)))).toEqual([200])
    await sleep(300)
    expect(seen).toEqual({ asked: 1, atOnce: 0, most: 1, letGo: 0 })
  })

  test("is ended when more wait than may, and gets the answers to those that may", async () => {
    const { listening } = await serving()
    const answer = await exchange(listening, get("/small").repeat(2000))
    expect(statusesIn(answer)).toHaveLength(PIPELINED_MAX + 1)
    expect(statusesIn(await exchange(listening, get("/small", CLOSE)))).toEqual([200])
  })

  test("holds up nobody else, whatever number of such connections there is", async () => {
    const { listening, seen } = await serving()
    for (let i = 0; i < 20; i++) deaf(listening, get("/large").repeat(2000))
    for (let i = 0; i < 20; i++) expect(statusesIn(await exchange(listening, get("/small", CLOSE)))).toEqual([200])
    expect(seen.asked).toBeLessThanOrEqual(20)
  })
})

describe("a connection on which nothing moves is let go", () => {
  test("while it does not read its answer", async () => {
    const { listening, seen } = await serving({ silentMs: 400 })
    const socket = deaf(listening, get("/large"))
    const gone = new Promise<void>(done => socket.once("close", () => done()))
    // A reader who reads nothing does not see the end either, so it is the server that says it.
    await until("the server ends the connection", () => seen.letGo > 0)
    socket.resume()
    await gone
    expect(socket.bytesRead).toBeLessThan(LARGE.length)
  })

  test("but not between two requests, when it may be idle for longer than it may be silent in one", async () => {
    const { listening } = await serving({ silentMs: 200, keepAliveMs: 30_000, checkMs: 50 })
    const socket = dial(listening)
    sockets.push(socket)
    let answers = 0
    socket.on("data", () => (answers += 1))
    socket.write(get("/small"))
    await until("the first request is answered", () => answers === 1)
    await sleep(1000)
    socket.write(get("/small", CLOSE))
    await closed(socket)
    expect(answers).toBe(2)
  })

  test("between two requests", async () => {
    const { listening } = await serving({ keepAliveMs: 300, checkMs: 50 })
    const socket = dial(listening)
    sockets.push(socket)
    socket.write(get("/small"))
    await closed(socket)
    expect(socket.bytesRead).toBeGreaterThan(0)
  })
})
