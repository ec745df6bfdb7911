/** The socket before any request: what is refused there is refused in the envelope, and nobody can hold a connection. */
import { mkdtempSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { CONNECTION_LIMITS, type ConnectionLimits, type Listening, listen } from "../../src/http/listen.ts"
import { startChild } from "../harness/child.ts"
import { dial, exchange, expectRefusal, listenOn, statusesIn } from "../harness/raw-socket.ts"
import { minted } from "../harness/read-tables.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"
import { until } from "../harness/until.ts"

const service = standingService()
/** Short, so that no test waits long for what must end; long enough for an honest head on a slow machine. */
const HASTY: ConnectionLimits = { ...CONNECTION_LIMITS, headMs: 1_000, requestMs: 1_500, checkMs: 50, silentMs: 5_000 }
const open: Listening[] = []
let patient: Listening
let hasty: Listening
const listening = async (limits?: ConnectionLimits): Promise<Listening> => {
  const made = await listenOn(service(), limits)
  open.push(made)
  return made
}
beforeAll(async () => {
  patient = await listening()
  hasty = await listening(HASTY)
})
afterAll(() => Promise.all(open.map(({ stop }) => stop())))

const CANARY = "socket-canary-77d0"
const get = (target: string, headers = "Host: x\r\nConnection: close\r\n"): string =>
  `GET ${target} HTTP/1.1\r\n${headers}\r\n`
const post = (headers: string, body: string): string =>
  `POST /execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n${body}`

type Case = readonly [what: string, bytes: string, status: number]
const REFUSED: readonly Case[] = [
  ["a request line that is none", `${CANARY}\r\n\r\n`, 400],
  ["control characters", "\u0000\u0001\u0002\r\n\r\n", 400],
  ["another protocol", "\u0016\u0003\u0001\u0002\u0000", 400],
  ["a method that is none", `${CANARY} / HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
  ["an HTTP version that is none", `GET / HTTP/9.9\r\nHost: x\r\n\r\n`, 400],
  ["a header without a colon", get("/health", `Host: x\r\n${CANARY}\r\n`), 400],
  ["a header name with a space", get("/health", `Host: x\r\nBad Name: ${CANARY}\r\n`), 400],
  ["a control character in a header", get("/health", `Host: x\r\nX-A: a\u0001${CANARY}\r\n`), 400],
  ["a length that is none", post(`Content-Length: ${CANARY}\r\n`, ""), 400],
  ["two lengths", post("Content-Length: 2\r\nContent-Length: 3\r\n", "{}"), 400],
  ["a length and chunks", post("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400],
  ["a chunk size that is none", post("Transfer-Encoding: chunked\r\n", `zz${CANARY}\r\n`), 400],
  ["chunk extensions without end", post("Transfer-Encoding: chunked\r\n", `1;${"e".repeat(40_000)}\r\n`), 413],
  ["a head that is too large", get("/health", `Host: x\r\nX-A: ${CANARY.repeat(2000)}\r\n`), 431],
  ["a target that is too large", get(`/${CANARY.repeat(2000)}`), 431],
  ["no Host", get("/health", ""), 400],
  ["two Hosts", get("/health", "Host: x\r\nHost: y\r\n"), 400],
  ["a Host that is none", get("/health", `Host: ${CANARY} ${CANARY}\r\nConnection: close\r\n`), 400],
  ["a Host with a path", get("/health", `Host: x/${CANARY}\r\nConnection: close\r\n`), 400],
  ["a target that is no path", get(CANARY), 400],
  ["an expectation that cannot be met", post(`Expect: ${CANARY}\r\nContent-Length: 2\r\n`, "{}"), 417],
]

describe("what is no request is refused in the envelope, quotes nothing and closes the connection", () => {
  test.each(REFUSED)("%s", async (_what, bytes, status) => {
    const before = await minted(service().db)
    expect(expectRefusal(await exchange(patient, bytes), status)).not.toContain(CANARY)
    expect(await minted(service().db)).toEqual(before)
  })

  test.each([
    ["/runs/%zz", 404],
    ["/runs/%", 404],
    ["/runs/%00", 404],
    ["/runs/search?route_id=%zz", undefined],
    ["/runs?limit=%ff", 400],
    ["/%c0%ae%c0%ae/etc", 404],
  ])("a malformed percent-encoding in %s has an answer in the envelope", async (target, status) => {
    const answer = await exchange(patient, get(target))
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status ?? "(200|400)"} `))
    expect(answer).toMatch(/\r\n\r\n\{"ok":(?:true|false),/)
  })

  test("HTTP/1.0 needs no Host: health checks of load balancers speak it", async () => {
    expect(await exchange(patient, "GET /health HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1\.1 200 /)
  })

  test("the next caller is served", async () => {
    expect(await exchange(patient, get("/health"))).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe("garbage after a request", () => {
  const body = JSON.stringify(request())

  test("does not take the answer from a request that is being sealed", async () => {
    const sealing = post(`Content-Length: ${body.length}\r\n`, body)
    const answer = await exchange(patient, `${sealing}${sealing}${CANARY}\r\n\r\n`)
    expect(answer.match(/HTTP\/1\.1 \d{3}/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"])
    expect(answer.match(/"run_id":\d+/g)).toHaveLength(2)
  })

  test("is refused when everything before it was answered", async () => {
    const socket = dial(patient)
    let answer = ""
    socket.setEncoding("latin1").on("data", (text: string) => (answer += text))
    const closed = new Promise<void>(done => socket.on("close", () => done()))
    socket.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    await until("the first request is answered", () => /\r\n\r\n\{.*\}$/s.test(answer))
    const first = answer.length
    socket.write(`${CANARY}\r\n\r\n`)
    await closed
    expectRefusal(answer.slice(first), 400)
  })
})

describe("an answer that comes before the end of its request", () => {
  const PIECES = 24
  const PIECE = " ".repeat(65_536)
  const PAUSE_MS = 60

  /** Sends all of a large body, slowly, and only then reads what was answered. */
  async function sendThenRead(head: string, frame: (piece: string) => string, end: string): Promise<string> {
    const socket = dial(patient)
    let faults = 0
    socket.on("error", () => (faults += 1))
    const over = new Promise<void>(done => socket.once("close", () => done()))
    socket.pause()
    socket.write(head)
    for (let i = 0; i < PIECES; i++) {
      socket.write(frame(PIECE))
      await sleep(PAUSE_MS)
    }
    socket.write(end)
    let answer = ""
    socket.setEncoding("latin1").on("data", (text: string) => {
      answer += text
      if (answer.endsWith("}")) socket.end()
    })
    socket.resume()
    await over
    expect(faults, "the connection is not reset").toBe(0)
    return answer
  }
  const asItIs = (piece: string): string => piece
  const chunk = (piece: string): string => `${piece.length.toString(16)}\r\n${piece}\r\n`
  const to = (path: string, version: string, headers: string): string =>
    `POST ${path} ${version}\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n`
  const LENGTH = `Content-Length: ${PIECES * PIECE.length}\r\n`
  const CLOSE = "Connection: close\r\n"

  type Early = readonly [what: string, head: string, status: number]
  const CHUNKED = "Transfer-Encoding: chunked\r\n"

  test.each<Early>([
    ["a length beyond the limit", to("/execute", "HTTP/1.1", LENGTH), 413],
    ["the same, and the connection is to be closed", to("/execute", "HTTP/1.1", LENGTH + CLOSE), 413],
    ["the same in HTTP/1.0, as proxies speak it", to("/execute", "HTTP/1.0", LENGTH), 413],
    ["an endpoint that is none", to("/nowhere", "HTTP/1.1", LENGTH + CLOSE), 404],
    ["a method that it does not have", to("/health", "HTTP/1.1", LENGTH + CLOSE), 405],
    ["a head that is refused", to("/a/../b", "HTTP/1.1", LENGTH), 400],
    ["an expectation that cannot be met", to("/execute", "HTTP/1.1", `${LENGTH}Expect: x\r\n`), 417],
  ])("reaches a client that sends on slowly and reads after that: %s", async (_what, head, status) => {
    expect(statusesIn(await sendThenRead(head, asItIs, ""))).toEqual([status])
  })

  test.each<Early>([
    ["chunks beyond the limit", to("/execute", "HTTP/1.1", CHUNKED), 413],
    ["the same, and the connection is to be closed", to("/execute", "HTTP/1.1", CHUNKED + CLOSE), 413],
  ])("reaches a client that sends on in %s", async (_what, head, status) => {
    expect(statusesIn(await sendThenRead(head, chunk, "0\r\n\r\n"))).toEqual([status])
  })

  test("leaves its connection to the next request", async () => {
    const answer = await sendThenRead(to("/execute", "HTTP/1.1", LENGTH), asItIs, get("/health"))
    expect(statusesIn(answer)).toEqual([413, 200])
  })
})

describe("a sender that is too slow is ended", () => {
  test("who sends nothing at all", async () => {
    expectRefusal(await exchange(hasty, ""), 408)
  })

  test("who never ends the head, whatever trickles in", async () => {
    const socket = dial(hasty)
    let answer = ""
    let closed = false
    socket.setEncoding("latin1").on("data", (text: string) => (answer += text))
    socket.on("error", () => undefined).on("close", () => (closed = true))
    socket.write("GET /health HTTP/1.1\r\nHost: x\r\n")
    await until("the server ends the connection", () => {
      if (!closed) socket.write("X-A: a\r\n")
      return closed
    })
    expectRefusal(answer, 408)
  })

  test("who never ends the body; nothing is minted", async () => {
    const before = await minted(service().db)
    expectRefusal(await exchange(hasty, post("Content-Length: 100\r\n", '{"payload":"')), 408)
    expect(await minted(service().db)).toEqual(before)
  })

  test("while others are served", async () => {
    const slow = Array.from({ length: 50 }, () => exchange(hasty, "POST /execute HTTP/1.1\r\nHost: x\r\n"))
    expect(await exchange(hasty, get("/health"))).toMatch(/^HTTP\/1\.1 200 /)
    for (const answer of await Promise.all(slow)) expectRefusal(answer, 408)
  })
})

describe("a stop", () => {
  test("closes with their answers the connections on which a request is under way", async () => {
    let answerNow = (): void => undefined
    const held = new Promise<void>(done => (answerNow = done))
    const server = await listen({
      fetch: async () => held.then(() => new Response("late")),
      host: "127.0.0.1",
      port: 0,
      limits: CONNECTION_LIMITS,
    })
    const one = "GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
    const [alone, pipelined] = [exchange(server, one), exchange(server, one.repeat(3))]
    await sleep(100)
    const stopped = server.stop()
    answerNow()
    const [answer, answers] = await Promise.all([alone, pipelined])
    expect(answer).toMatch(/^connection: close$/im)
    expect(statusesIn(answers), "all that it sent before is answered").toEqual([200, 200, 200])
    expect(answers.match(/^connection: close$/gim)).toHaveLength(1)
    await stopped
  })
})

describe("a client that speaks otherwise than HTTP/1.1", () => {
  const says: string[] = []
  const reporting = async (): Promise<Listening> => {
    const server = await listen({
      fetch: () => new Response("ok"),
      host: "127.0.0.1",
      port: 0,
      reportMisfit: sentence => void says.push(sentence),
    })
    open.push(server)
    return server
  }

  test.each([
    ["HTTP/2 without an upgrade", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0000\u0004", 400, /HTTP\/2/],
    ["TLS", "\u0016\u0003\u0001\u0000\u0005\u0001\u0000\u0000\u0001\u0003", 400, /TLS/],
    ["an expectation", post("Expect: 200-ok\r\nContent-Length: 2\r\n", "{}"), 417, /Expect/],
  ])("is named to the operator: %s", async (_what, bytes, status, named) => {
    says.length = 0
    const sentence = expectRefusal(await exchange(await reporting(), bytes), status)
    expect(sentence).toMatch(named)
    expect(says).toEqual([sentence])
  })

  test("and nobody else is", async () => {
    says.length = 0
    const server = await reporting()
    for (const bytes of [`${CANARY}\r\n\r\n`, get("/x"), get("/x", "")]) await exchange(server, bytes)
    expect(says).toEqual([])
  })
})

test("a connection beyond the most there may be is closed; when one ends, the next is served", async () => {
  const few = await listening({ ...CONNECTION_LIMITS, connections: 2 })
  const held = [dial(few), dial(few)]
  await Promise.all(held.map(socket => new Promise<void>(done => socket.once("connect", () => done()))))
  // Connected is not yet accepted: an answer on each shows that the server has both.
  await Promise.all(
    held.map(
      socket =>
        new Promise<void>(done => {
          socket.once("data", () => done())
          socket.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        }),
    ),
  )
  expect(await exchange(few, get("/health"))).toBe("")
  const gone = new Promise<void>(done => held[0]!.once("close", () => done()))
  held[0]!.destroy()
  await gone
  const answer = await until(
    "the next connection is served",
    async () => (await exchange(few, get("/health"))) || false,
  )
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  held[1]!.destroy()
})

test.skipIf(process.platform !== "linux")(
  "idle connections, more than a process has file descriptors, leave the embedded database those that it needs",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "runseal-descriptors-"))
    const child = await startChild(["--data-dir", folder], {}, 256)
    // The first connection stays open for all requests.
    expect((await child.post("/execute", request())).status).toBe(200)
    const { hostname, port } = new URL(child.url)
    const idle = Array.from({ length: 300 }, () => connect(Number(port), hostname).on("error", () => undefined))
    await Promise.all(idle.map(socket => new Promise<void>(done => socket.once("connect", () => done()))))
    const large = request({ payload: "x".repeat(200_000) })
    for (let sent = 0; sent < 20; sent++) expect((await child.post("/execute", large)).status).toBe(200)
    expect((await child.get("/ready")).status).toBe(200)
    for (const socket of idle) socket.destroy()
    expect(await child.end("SIGTERM")).toMatchObject({ code: 0, stderr: "" })
    rmSync(folder, { recursive: true, force: true })
  },
)

test("the bounds of a connection outlast a review and let go of a peer that is silent", () => {
  const { headMs, requestMs, silentMs, keepAliveMs } = CONNECTION_LIMITS
  expect(headMs).toBeLessThan(requestMs)
  expect(silentMs).toBeGreaterThan(120_000 + requestMs)
  expect(keepAliveMs).toBeGreaterThan(60_000)
})
