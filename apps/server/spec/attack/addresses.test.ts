/** A path has one spelling, a key one header, a method one meaning: no other spelling passes authentication. */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Listening } from "../../src/http/listen.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { exchange, expectRefusal, listenOn, statusesIn } from "../harness/raw-socket.ts"
import { numberAt } from "../harness/read-answer.ts"
import { minted } from "../harness/read-tables.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const service = standingService()
let listening: Listening
let admin: Holder
let customer: Holder
let run = 0
beforeAll(async () => {
  admin = await mint(service(), ADMIN)
  customer = await mint(service(), CUSTOMER, admin)
  run = numberAt((await admin.execute(request())).body, "run_id")
  listening = await listenOn(service())
})
afterAll(() => listening.stop())

const keyOf = ({ secret }: Holder): string => `X-Service-Key: ${secret}\r\n`
const ask = (method: string, target: string, headers = "", version = "HTTP/1.1"): Promise<string> =>
  exchange(listening, `${method} ${target} ${version}\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`)
const bodyOf = (answer: string): string => answer.slice(answer.indexOf("\r\n\r\n") + 4)

describe("a path that leads somewhere else is refused before anybody compares it", () => {
  test.each([
    "/./admin/keys",
    "/x/../admin/keys",
    "/health/../admin/keys",
    "/health/..",
    "/%2e%2e/admin/keys",
    "/x/%2E%2e/admin/keys",
    "/x/.%2e/admin/keys",
    "/x/%2e./admin/keys",
    "/admin/%2e/keys",
    "/docs/../admin/keys",
    "/docs/%2e%2e/%2e%2e/package.json",
    "/log/tile/../checkpoint",
    "/admin\\keys",
    "/x\\..\\admin\\keys",
    "/x/..%5cadmin%5Ckeys",
    "http://x/health/../admin/keys",
  ])("%s", async target => {
    expect(expectRefusal(await ask("GET", target, keyOf(admin)), 400)).toContain("dot segments")
  })

  test("dots that are no segment, and dots in a query, are text like any other", async () => {
    expect(statusesIn(await ask("GET", "/.well-known/service.pub"))).toEqual([200])
    expect(statusesIn(await ask("GET", "/runs/search?route_id=/../x", keyOf(customer)))).toEqual([200])
    for (const target of ["/docs/...", "/docs/..x", "/docs/.hidden"])
      expect(statusesIn(await ask("GET", target))).toEqual([404])
  })
})

describe("no spelling of an administrative path is answered to a customer, or to nobody", () => {
  test.each([
    "//admin/keys",
    "/admin//keys",
    "/admin/keys/",
    "/admin;x/keys",
    "/admin/keys;x",
    "/admin/keys%00",
    "/admin/keys%20",
    "/admin%2fkeys",
    "/admin%2Fkeys",
    "/%61dmin/keys",
    "/%2561dmin/keys",
    "/ADMIN/keys",
    "/Admin/Keys",
    "/admin/./keys",
    "/runs/../admin/keys",
    "/health/..%2fadmin/keys",
    "/admin/keys?",
    "/admin/keys?a=/health",
    "/admin/keys#/health",
    "/admin/keys/%3f/health",
    "http://health/admin/keys",
    "HTTP://x/admin/keys",
    "http://x@y/admin/keys",
    "/health/admin/keys",
    "/public/runs/admin/keys",
  ])("%s", async target => {
    for (const method of ["GET", "POST", "HEAD", "DELETE"]) {
      expect([400, 403, 404], method).toContain(statusesIn(await ask(method, target, keyOf(customer)))[0])
      expect([400, 401, 404], method).toContain(statusesIn(await ask(method, target))[0])
    }
  })

  test.each([
    "runs/1%2fartifacts",
    "runs/%31/artifacts%00",
    "runs/01/artifacts",
    "runs/1.0/artifacts",
    "runs/+1/artifacts",
    "runs//1/artifacts",
    "RUNS/1/artifacts",
    "runs/9007199254740993/artifacts",
  ])("/%s leads to nobody's run", async path => {
    expect(statusesIn(await ask("GET", `/${path.replace("1", `${run}`)}`, keyOf(customer)))).toEqual([404])
  })
})

describe("a key is in one header, once", () => {
  const refused: readonly (readonly [what: string, headers: () => string])[] = [
    ["twice", () => keyOf(admin).repeat(2)],
    ["beside another", () => `${keyOf(admin)}${keyOf(customer)}`],
    ["beside an empty one", () => `X-Service-Key: \r\n${keyOf(admin)}`],
    ["in two with a comma", () => `X-Service-Key: ${admin.secret}, ${customer.secret}\r\n`],
    ["as a bearer token", () => `Authorization: Bearer ${admin.secret}\r\n`],
    ["as a password", () => `Authorization: Basic ${btoa(`admin:${admin.secret}`)}\r\n`],
    ["with the scheme of another header", () => `X-Service-Key: Bearer ${admin.secret}\r\n`],
    ["in a cookie", () => `Cookie: X-Service-Key=${admin.secret}\r\n`],
    ["under a name with underscores", () => `X_Service_Key: ${admin.secret}\r\n`],
    ["for a proxy", () => `Proxy-Authorization: Bearer ${admin.secret}\r\nX-Forwarded-User: admin\r\n`],
    ["cut by a null", () => `X-Service-Key: ${admin.secret}\u0000x\r\n`],
    ["on a folded line", () => `X-Service-Key:\r\n ${admin.secret}\r\n`],
    ["after a bare carriage return", () => `X-A: b\rX-Service-Key: ${admin.secret}\r\n`],
    ["after a bare line feed", () => `X-A: b\nX-Service-Key: ${admin.secret}\r\n`],
    ["named as hop-by-hop", () => `Connection: X-Service-Key\r\nX-Service-Key : ${admin.secret}\r\n`],
    ["in the query", () => "X-A: b\r\n"],
  ]

  test.each(refused)("%s it opens nothing", async (what, headers) => {
    const target = what === "in the query" ? `/admin/keys?X-Service-Key=${admin.secret}` : "/admin/keys"
    const answer = await ask("GET", target, headers())
    expect([400, 401]).toContain(statusesIn(answer)[0])
    expect(answer).not.toContain(admin.secret)
  })

  test("whatever the case of the header's name, and with spaces around the value", async () => {
    for (const header of [`x-service-key: ${admin.secret}`, `X-SERVICE-KEY:\t ${admin.secret} \t`])
      expect(statusesIn(await ask("GET", "/admin/keys", `${header}\r\n`))).toEqual([200])
  })
})

describe("a method is what the request line says", () => {
  test.each(["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"])(
    "%s changes nothing",
    async name => {
      const headers = `${keyOf(admin)}${name}: DELETE\r\n`
      expect(statusesIn(await ask("GET", "/admin/keys", headers))).toEqual([200])
      expect(statusesIn(await ask("GET", `/admin/keys/${customer.id}?${name}=DELETE`, headers))).toEqual([405])
      expect(statusesIn(await ask("GET", `/admin/keys?${name}=DELETE`, headers))).toEqual([400])
      expect(statusesIn(await ask("POST", `/admin/keys/${customer.id}`, headers))).toEqual([405])
      expect(statusesIn(await ask("GET", "/runs", keyOf(customer)))).toEqual([200])
    },
  )

  test.each(["X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix", "X-Forwarded-Path", "Referer"])(
    "%s leads to no other path",
    async name => {
      expect(bodyOf(await ask("GET", "/health", `${name}: /admin/keys\r\n`))).toContain('"service":"runseal"')
      expect(statusesIn(await ask("GET", "/admin/keys", `${name}: /health\r\n`))).toEqual([401])
    },
  )

  test("TRACE echoes nothing of what was sent, OPTIONS allows no other origin, CONNECT opens no tunnel", async () => {
    const canary = "X-Canary: canary-5d0e\r\n"
    for (const method of ["TRACE", "OPTIONS", "PROPFIND", "QUERY"]) {
      const answer = await ask(method, "/health", `${canary}Origin: http://evil.example\r\n`)
      expect(statusesIn(answer), method).toEqual([405])
      expect(answer).not.toMatch(/canary|access-control/i)
    }
    expect(expectRefusal(await ask("OPTIONS", "*"), 400)).toBeDefined()
    const tunnel = await exchange(
      listening,
      "CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\nGET /health HTTP/1.1\r\n\r\n",
    )
    expect(expectRefusal(tunnel, 501)).toBe("CONNECT is not understood: this is no proxy.")
  })
})

describe("what else a head may hold changes nothing", () => {
  test.each([
    ["an upgrade to HTTP/2", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"],
    ["an upgrade to WebSocket", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"],
    ["an upgrade to TLS", "Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n"],
    ["a range", "Range: bytes=0-3\r\nIf-Range: x\r\n"],
    ["a thousand ranges", `Range: bytes=${Array.from({ length: 1000 }, (_, i) => `${i}-${i}`).join(",")}\r\n`],
    ["a hundred header fields", Array.from({ length: 100 }, (_, i) => `X-${i}: a\r\n`).join("")],
  ])("%s", async (_what, headers) => {
    const answer = await exchange(listening, `GET /health HTTP/1.0\r\n${headers}\r\n`)
    expect(statusesIn(answer)).toEqual([200])
    expect(bodyOf(answer)).toContain('"service":"runseal"')
  })

  test("the preface of HTTP/2 and a request line of HTTP/0.9 are no requests", async () => {
    expectRefusal(await exchange(listening, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 400)
    expectRefusal(await exchange(listening, "GET /health\r\n\r\n"), 400)
  })

  test("more header fields than a head may hold are refused", async () => {
    expectRefusal(await ask("GET", "/health", "a:\r\n".repeat(6000)), 431)
  })

  test("an answer names the address of --base-url or of the request line and Host, never one that a header forwards", async () => {
    const forged =
      "X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\nForwarded: host=evil.example;proto=https\r\nX-Host: evil.example\r\n"
    const answer = await ask("POST", `/admin/runs/${run}/publish`, `${keyOf(admin)}${forged}Content-Length: 0\r\n`)
    expect(bodyOf(answer)).toContain('"url":"http://x/public/runs/')
    expect(answer).not.toContain("evil.example")
  })

  test("what anybody may keep a copy of does not depend on the Host it was asked under", async () => {
    const under = async (host: string, path: string): Promise<string> =>
      bodyOf(await exchange(listening, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`))
    for (const path of ["/openapi.json", "/docs", "/verify", "/version", "/.well-known/runseal-trust.json"])
      expect(await under("evil.example", path), path).toBe(await under("x", path))
  })

  test("nothing is minted by any of it", async () => {
    const before = await minted(service().db)
    await ask("POST", "/execute", "Content-Length: 0\r\n")
    expect(await minted(service().db)).toEqual(before)
  })
})
