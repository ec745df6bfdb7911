/**
 * A head with `Upgrade`, and CONNECT: Node takes what follows them for another protocol. We speak none, so each is answered as what it
 * is and the connection closes; nothing behind it is swallowed on a connection that stays open. RFC 9110 §7.8 and §9.3.6.
 */
import { once } from "node:events"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Listening } from "../../src/http/listen.ts"
import { dial, exchange, expectRefusal, listenOn, statusesIn } from "../harness/raw-socket.ts"
import { minted } from "../harness/read-tables.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const service = standingService()
let listening: Listening
beforeAll(async () => {
  listening = await listenOn(service())
})
afterAll(() => listening.stop())

const head = (method: string, target: string, headers = ""): string =>
  `${method} ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`
const HEALTH = head("GET", "/health")
const JSON_TYPE = "Content-Type: application/json\r\n"
const BODY = JSON.stringify(request())
const LENGTH = `${JSON_TYPE}Content-Length: ${Buffer.byteLength(BODY)}\r\n`
const RUN = head("POST", "/execute", LENGTH) + BODY
/** What must not be taken for a request once the connection has ended. */
const BEHIND = RUN + HEALTH

const UPGRADES = [
  "Connection: Upgrade\r\nUpgrade: websocket\r\n",
  "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n",
  "Connection: keep-alive\r\nConnection: upgrade\r\nUpgrade: TLS/1.0\r\nUpgrade: h2c\r\n",
  "Upgrade: h2c\r\n",
] as const

describe.each(UPGRADES)("a request with %j", upgrade => {
  test.each<readonly [what: string, sent: string, statuses: readonly number[]]>([
    ["alone", head("GET", "/health", upgrade), [200]],
    ["before other requests", head("GET", "/health", upgrade) + BEHIND, [200]],
    ["between other requests", HEALTH + HEALTH + head("GET", "/health", upgrade) + BEHIND, [200, 200, 200]],
    ["twice", head("GET", "/health", upgrade).repeat(2), [200]],
    ["that HEAD asks", head("HEAD", "/health", upgrade) + BEHIND, [200]],
    [
      "of HTTP/1.0",
      head("GET", "/health", `${upgrade}Connection: keep-alive\r\n`).replace("1.1", "1.0") + BEHIND,
      [200],
    ],
    ["that nobody serves", head("GET", "/nowhere", upgrade) + BEHIND, [404]],
    ["with an expectation that cannot be met", head("GET", "/health", `${upgrade}Expect: x\r\n`) + BEHIND, [417]],
  ])("%s is answered, and the connection closes", async (_what, sent, statuses) => {
    const before = await minted(service().db)
    const answer = await exchange(listening, sent)
    expect(statusesIn(answer)).toEqual(statuses)
    expect(answer.slice(answer.lastIndexOf("HTTP/1.1 "))).toMatch(/^connection: close$/im)
    expect(await minted(service().db)).toEqual(before)
  })

  test.each(["", "Expect: 100-continue\r\n"])("and a body is a run like any other (%j)", async expected => {
    const answer = await exchange(listening, head("POST", "/execute", LENGTH + upgrade + expected) + BODY + BEHIND)
    expect(statusesIn(answer).filter(status => status !== 100)).toEqual([200])
    expect(answer.match(/"run_id":/g)).toHaveLength(1)
  })

  test.each(["2\r\n{}\r\n0\r\n\r\n", "2\r\n{}zz\r\n0\r\n\r\n", "2\r\n{"])("and chunks is refused: %j", async chunks => {
    const headers = `${JSON_TYPE}Transfer-Encoding: chunked\r\n${upgrade}`
    expectRefusal(await exchange(listening, head("POST", "/execute", headers) + chunks + BEHIND), 400)
  })

  test("whose sender goes on in pieces, or ends his side, gets its answer and the end", async () => {
    for (const ends of [false, true]) {
      const socket = dial(listening).setEncoding("latin1")
      let answer = ""
      socket.on("data", (text: string) => (answer += text)).on("error", () => undefined)
      socket.write(HEALTH + head("GET", "/health", upgrade))
      if (ends) socket.end()
      else setTimeout(() => socket.write(BEHIND), 20)
      await once(socket, "close")
      expect(statusesIn(answer)).toEqual([200, 200])
    }
  })
})

describe("CONNECT", () => {
  const connect = head("CONNECT", "example.com:443")

  test.each([
    ["alone", connect],
    ["before other requests", connect + BEHIND],
    ["with a length", head("CONNECT", "example.com:443", "Content-Length: 2\r\n") + BEHIND],
    ["to an address of ours", head("CONNECT", "/health") + BEHIND],
  ])("%s is refused, and the connection closes", async (_what, sent) => {
    const before = await minted(service().db)
    const answer = await exchange(listening, sent)
    expect(statusesIn(answer)).toHaveLength(1)
    expectRefusal(answer, Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]))
    expect(await minted(service().db)).toEqual(before)
  })

  test("behind others takes no answer from them", async () => {
    const answer = await exchange(listening, HEALTH + RUN + connect + BEHIND)
    expect(statusesIn(answer)).toEqual([200, 200])
    expect(answer.match(/"run_id":/g)).toHaveLength(1)
  })

  test("from a sender who resets the connection harms nobody", async () => {
    for (const sent of [connect, RUN + connect, HEALTH + connect + BEHIND]) {
      const socket = dial(listening).on("error", () => undefined)
      socket.write(sent, () => setTimeout(() => socket.resetAndDestroy(), 5))
      await once(socket, "close")
    }
    expect(statusesIn(await exchange(listening, head("GET", "/health", "Connection: close\r\n")))).toEqual([200])
  })
})
