/** One caller sends as many large bodies as it can, as slowly as it may: others are served beside it, and a body that does not move is ended. */
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type Child, startChild } from "../harness/child.ts"
import { expectRefusal, statusesIn } from "../harness/raw-socket.ts"
import { request } from "../harness/sample-requests.ts"
import { until } from "../harness/until.ts"

const folder = testFolder("runseal-body-shares")

const HEAP_MIB = 256
const SLOW_BODIES = 44
/** The largest body that any endpoint reads, `POST /dcae/verify`. */
const BODY_BYTES = 4_194_304
const MIB = 1_048_576
/** Longest that nothing of a body may arrive. */
const STILL_MS = 10_000
const DRIP_MS = 1_000

let child: Child
beforeAll(async () => {
  const options = ["--data-dir", join(folder, "data"), "--trust-proxy", "1", "--anonymous-rate-limit", "1000000"]
  child = await startChild(options, { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` })
})
const sockets: Socket[] = []
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await child.end("SIGKILL")
})

type Slow = { readonly socket: Socket; readonly answer: () => string; readonly closed: () => boolean }

/** Sends the head of a request and the first bytes of its body. */
function begin(path: string, from: string, framing: string, body: Buffer): Slow {
  const socket = connect(Number(new URL(child.url).port), "127.0.0.1")
  sockets.push(socket)
  let answer = ""
  let closed = false
  socket.setEncoding("latin1").on("data", (text: string) => (answer += text))
  socket.on("error", () => undefined).on("close", () => (closed = true))
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Forwarded-For: ${from}\r\n${framing}\r\n\r\n`,
  )
  socket.write(body)
  return { socket, answer: () => answer, closed: () => closed }
}

const spaces = (bytes: number): Buffer => Buffer.alloc(bytes, " ")

/** The status of a run with a large payload. */
async function execute(from: string): Promise<number> {
  const large = request({ payload: "p".repeat(900_000) })
  return (await child.post("/execute", large, { "X-Forwarded-For": from })).status
}

describe(`${SLOW_BODIES} bodies of 4 MiB that one caller never ends, in a heap of ${HEAP_MIB} MiB`, () => {
  test("hold a quarter of the room: the rest of them is refused, and other callers' large bodies are read", async () => {
    const framing = `Content-Length: ${BODY_BYTES}`
    const slow = Array.from({ length: SLOW_BODIES }, () =>
      begin("/dcae/verify", "203.0.113.1", framing, spaces(BODY_BYTES - MIB / 2)),
    )
    const drip = setInterval(() => {
      for (const { socket, answer } of slow) if (answer() === "") socket.write(" ")
    }, DRIP_MS)
    const ofOthers: number[] = []
    const refused = (): Slow[] => slow.filter(({ answer }) => answer() !== "")
    await until("everything was sent, or refused", () =>
      slow.every(({ socket, answer }) => answer() !== "" || socket.writableLength === 0),
    )
    // What was sent is on the way until the service has read it.
    await sleep(DRIP_MS)
    for (let i = 0; i < 5; i++) ofOthers.push(await execute(`198.51.100.${i}`))
    clearInterval(drip)
    expect(ofOthers).toEqual([200, 200, 200, 200, 200])
    expect(new Set(refused().flatMap(({ answer }) => statusesIn(answer())))).toEqual(new Set([503]))
    expect(refused().length).toBeGreaterThan(SLOW_BODIES / 2)
    expect(refused().length).toBeLessThan(SLOW_BODIES)
    for (const { socket } of slow) socket.destroy()
    await until("it has its part again", async () => {
      const { answer } = begin("/dcae/verify", "203.0.113.1", framing, spaces(BODY_BYTES))
      await until("it is answered", () => answer() !== "")
      return statusesIn(answer())[0] === 400
    })
  })
})

describe("a body of which nothing arrives for 10 s is answered 408, and its connection closed", () => {
  const STILL: readonly (readonly [what: string, path: string, framing: string, body: Buffer])[] = [
    ["a small one", "/execute", "Content-Length: 1000", spaces(10)],
    ["a small one of which nothing came", "/execute", "Content-Length: 1000", spaces(0)],
    ["a large one", "/execute", `Content-Length: ${MIB}`, spaces(500_000)],
    ["one in chunks", "/execute", "Transfer-Encoding: chunked", Buffer.from("5\r\n     \r\n")],
    ["one of an endpoint without keys", "/session", "Content-Length: 1000", spaces(10)],
    ["traces", "/v1/traces", "Content-Length: 100000", spaces(10)],
    ["a hook", "/hooks/claude-code", "Content-Length: 100000", spaces(10)],
  ]

  test("whatever its size and endpoint, and not one of which a byte comes now and then", async () => {
    const since = performance.now()
    const still = STILL.map(([, path, framing, body]) => begin(path, "203.0.113.2", framing, body))
    const moving = begin("/execute", "203.0.113.3", "Content-Length: 1000", spaces(10))
    const drip = setInterval(() => moving.socket.write(" "), DRIP_MS)
    await until("every one is answered", () => still.every(({ answer }) => answer() !== ""))
    expect(performance.now() - since).toBeGreaterThan(STILL_MS - 100)
    for (const [i, [what]] of STILL.entries())
      expect(expectRefusal(still[i]?.answer() ?? "", 408), what).toBe("Nothing of the body arrived for 10 s.")
    await until("every connection is closed", () => still.every(({ closed }) => closed()))
    expect(moving.answer()).toBe("")
    clearInterval(drip)
    moving.socket.destroy()
  })
})
