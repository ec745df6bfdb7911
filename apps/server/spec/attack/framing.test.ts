/** Request smuggling: the end of a request has one reading, or the request is refused, so a proxy and the server never differ. */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Listening } from "../../src/http/listen.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { exchange, expectRefusal, listenOn, statusesIn } from "../harness/raw-socket.ts"
import { minted } from "../harness/read-tables.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const service = standingService()
let listening: Listening
let admin: Holder
let customer: Holder
beforeAll(async () => {
  admin = await mint(service(), ADMIN)
  customer = await mint(service(), CUSTOMER, admin)
  listening = await listenOn(service())
})
afterAll(() => listening.stop())

const key = (): string => `X-Service-Key: ${customer.secret}\r\n`
/** What an attacker wants to be read as a request of its own; it answers 404 to who has the key. */
const smuggled = (): string => `GET /smuggled HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${key()}\r\n`
const post = (headers: string, body: string, version = "HTTP/1.1"): string =>
  `POST /execute ${version}\r\nHost: x\r\nContent-Type: application/json\r\n${key()}${headers}\r\n${body}`

const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

type Unclear = readonly [what: string, headers: string, body: string, status?: number]
const UNCLEAR: readonly Unclear[] = [
  ["a length before chunks (CL.TE)", "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"],
  ["a length after chunks (TE.CL)", "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", chunked("{}")],
  ["two codings (TE.TE)", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", chunked("{}")],
  ["the coding twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", chunked("{}")],
  ["the coding twice in one field", "Transfer-Encoding: chunked, chunked\r\n", chunked("{}")],
  ["chunks that are not last", "Transfer-Encoding: chunked, identity\r\n", chunked("{}")],
  ["a coding that only looks like chunks", "Transfer-Encoding: xchunked\r\n", chunked("{}")],
  ["a coding with a parameter", "Transfer-Encoding: chunked;q=1\r\n", chunked("{}")],
  ["a coding in quotes", 'Transfer-Encoding: "chunked"\r\n', chunked("{}")],
  ["a coding after a vertical tab", "Transfer-Encoding: \u000bchunked\r\n", chunked("{}")],
  ["a coding with a tab", "Transfer-Encoding:\tchunked\t\r\n", chunked("{}")],
  ["a coding on a folded line", "Transfer-Encoding:\r\n chunked\r\n", chunked("{}")],
  ["a coding with a space before its colon", "Transfer-Encoding : chunked\r\n", chunked("{}")],
  ["no coding at all", "Transfer-Encoding: identity\r\n", "{}"],
  ["another coding under the chunks", "Transfer-Encoding: gzip, chunked\r\n", chunked("{}"), 501],
  ["identity under the chunks", "Transfer-Encoding: identity, chunked\r\n", chunked("{}"), 501],
  ["the same length twice", "Content-Length: 2\r\nContent-Length: 2\r\n", "{}"],
  ["two lengths in one field", "Content-Length: 2, 2\r\n", "{}"],
  ["a length with a sign", "Content-Length: +2\r\n", "{}"],
  ["a negative length", "Content-Length: -1\r\n", "{}"],
  ["a length in hex", "Content-Length: 0x2\r\n", "{}"],
  ["a length with a fraction", "Content-Length: 2.0\r\n", "{}"],
  ["an empty length", "Content-Length: \r\n", "{}"],
  ["a length beyond 64 bits", "Content-Length: 18446744073709551618\r\n", "{}"],
  ["a chunk size in hex with its mark", "Transfer-Encoding: chunked\r\n", "0x2\r\n{}\r\n0\r\n\r\n"],
  ["a negative chunk size", "Transfer-Encoding: chunked\r\n", "-2\r\n{}\r\n0\r\n\r\n"],
  ["a chunk size beyond 64 bits", "Transfer-Encoding: chunked\r\n", "10000000000000002\r\n{}\r\n0\r\n\r\n"],
  ["a space after a chunk size", "Transfer-Encoding: chunked\r\n", "2 \r\n{}\r\n0\r\n\r\n"],
  ["bare line feeds between chunks", "Transfer-Encoding: chunked\r\n", "2\n{}\n0\n\n"],
  ["a line feed in a chunk extension", "Transfer-Encoding: chunked\r\n", "2;\nab\r\n{}\r\n0\r\n\r\n"],
  ["a chunk longer than it says", "Transfer-Encoding: chunked\r\n", "2\r\n{}{}\r\n0\r\n\r\n"],
  ["a trailer that is a length", "Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n"],
]

describe("framing that two readers may take differently is refused, and what follows it is no request", () => {
  test.each(UNCLEAR.map(([what, headers, body, status = 400]) => [what, { headers, body, status }] as const))(
    "%s",
    async (_what, { headers, body, status }) => {
      const before = await minted(service().db)
      const answer = await exchange(listening, post(headers, body) + smuggled())
      expect(statusesIn(answer)).toEqual([status])
      expect(answer).toMatch(/^connection: close$/im)
      expect(await minted(service().db)).toEqual(before)
    },
  )

  test.each(["HTTP/1.0", "HTTP/1.1"])("chunks in %s", async version => {
    const body = JSON.stringify(request())
    const sent = post("Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n", chunked(body), version)
    const answer = await exchange(listening, sent + smuggled())
    if (version === "HTTP/1.0") expectRefusal(answer, 400)
    else expect(statusesIn(answer)).toEqual([200, 404])
  })
})

describe("framing that is clear ends where it says, and the next request is served", () => {
  test.each<readonly [what: string, sent: () => string, statuses: readonly number[]]>([
    ["a length", () => post("Content-Length: 2\r\n", "{}"), [400, 404]],
    ["a length with zeros", () => post("Content-Length: 02\r\n", "{}"), [400, 404]],
    ["chunks", () => post("Transfer-Encoding: chunked\r\n", chunked("{}")), [400, 404]],
    ["chunks in capitals", () => post("Transfer-Encoding: Chunked\r\n", chunked("{}")), [400, 404]],
    ["a chunk extension", () => post("Transfer-Encoding: chunked\r\n", "2;a=b\r\n{}\r\n0\r\n\r\n"), [400, 404]],
    ["a trailer", () => post("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\nX-A: b\r\n\r\n"), [400, 404]],
    [
      "a GET whose body is a request",
      () => `GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: ${smuggled().length}\r\n\r\n${smuggled()}`,
      [200, 404],
    ],
    [
      "a GET whose chunks are a request",
      () => `GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunked(smuggled())}`,
      [200, 404],
    ],
    [
      "a HEAD whose body is a request",
      () => `HEAD /health HTTP/1.1\r\nHost: x\r\nContent-Length: ${smuggled().length}\r\n\r\n${smuggled()}`,
      [200, 404],
    ],
    [
      "a refused request whose body is a request",
      () => `POST /admin/keys HTTP/1.1\r\nHost: x\r\nContent-Length: ${smuggled().length}\r\n\r\n${smuggled()}`,
      [401, 404],
    ],
  ])("%s", async (_what, sent, statuses) => {
    expect(statusesIn(await exchange(listening, sent() + smuggled()))).toEqual(statuses)
  })

  test("a key in a trailer opens nothing", async () => {
    const head = "POST /execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    const body = JSON.stringify(request())
    const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n${key()}\r\n`
    const before = await minted(service().db)
    expect(statusesIn(await exchange(listening, `${head}Trailer: X-Service-Key\r\n\r\n${chunk}${smuggled()}`))).toEqual(
      [401, 404],
    )
    expect(await minted(service().db)).toEqual(before)
  })

  test("pipelined requests are answered in their order, each by its own answer", async () => {
    const body = JSON.stringify(request())
    const runs = post(`Content-Length: ${body.length}\r\n`, body).repeat(8)
    const answer = await exchange(listening, `${runs}GET /health HTTP/1.1\r\nHost: x\r\n\r\n${smuggled()}`)
    expect(statusesIn(answer)).toEqual([...Array<number>(8).fill(200), 200, 404])
    const ids = [...answer.matchAll(/"run_id":(\d+)/g)].map(([, id]) => Number(id))
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    expect(new Set(ids).size).toBe(8)
  })
})
