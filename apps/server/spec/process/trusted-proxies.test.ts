/** Who an anonymous caller is, over real sockets: the peer, or as many trusted proxies further as the operator says. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Child, startChild } from "../harness/child.ts"
import { type Answer, numberAt, readAnswer, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"

const LIMIT = 6
const folder = mkdtempSync(join(tmpdir(), "runseal-address-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A server whose anonymous callers have `LIMIT` requests a minute. */
function server(name: string, ...options: readonly string[]) {
  let child: Child | undefined
  beforeAll(async () => {
    child = await startChild(["--data-dir", join(folder, name), "--anonymous-rate-limit", `${LIMIT}`, ...options])
  })
  afterAll(async () => {
    await child?.end("SIGKILL")
  })
  const ask = async (path: string, forwardedFor: string | undefined, init: RequestInit = {}): Promise<Answer> => {
    const forwarded = forwardedFor === undefined ? {} : { "X-Forwarded-For": forwardedFor }
    return readAnswer(await fetch(`${child?.url}${path}`, { ...init, headers: { ...init.headers, ...forwarded } }))
  }
  return {
    /** Requests that are left to whom the server takes the caller for. */
    left: async (forwardedFor?: string): Promise<number> => {
      const { headers } = await ask("/runs?limit=1", forwardedFor)
      return Number(/r=(\d+)/.exec(headers.get("RateLimit") ?? "")?.[1])
    },
    status: async (forwardedFor?: string): Promise<number> => (await ask("/runs?limit=1", forwardedFor)).status,
    /** The hash of the caller's address as it is sealed. Two requests. */
    sealedHash: async (forwardedFor?: string): Promise<string> => {
      const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request()) }
      const run = numberAt((await ask("/execute", forwardedFor, init)).body, "run_id")
      const { body } = await ask(`/runs/${run}/artifacts`, forwardedFor)
      return textAt(body, "sections", "request_substance", "origin", "source_ip_hash")
    },
  }
}

describe("without a trusted proxy", () => {
  const { left, status, sealedHash } = server("direct")

  test("no header is believed: whatever it says, the peer is counted and sealed", async () => {
    expect(await left()).toBe(LIMIT - 1)
    expect(await left("203.0.113.1")).toBe(LIMIT - 2)
    expect(await sealedHash("203.0.113.1")).toBe(await sealedHash())
    expect(await status("203.0.113.2")).toBe(429)
    expect(await status()).toBe(429)
  })
})

describe("behind one trusted proxy", () => {
  const { left, status, sealedHash } = server("one", "--trust-proxy", "1")

  test("each address has a limit of its own", async () => {
    for (let i = 1; i <= LIMIT; i++) expect(await left("203.0.113.1")).toBe(LIMIT - i)
    expect(await status("203.0.113.1")).toBe(429)
    expect(await left("203.0.113.2")).toBe(LIMIT - 1)
  })

  test("what a caller wrote left of the proxy's entry is not believed", async () => {
    expect(await left("203.0.113.3")).toBe(LIMIT - 1)
    expect(await left("198.51.100.9, 203.0.113.3")).toBe(LIMIT - 2)
    expect(await left("nonsense, 10.0.0.1,,203.0.113.3")).toBe(LIMIT - 3)
    expect(await left("198.51.100.9")).toBe(LIMIT - 1)
  })

  test("one caller is one address, however it is spelt; of IPv6 the /64 counts", async () => {
    expect(await left("203.0.113.4")).toBe(LIMIT - 1)
    expect(await left("::ffff:203.0.113.4")).toBe(LIMIT - 2)
    expect(await left("2001:db8:0:7::1")).toBe(LIMIT - 1)
    expect(await left("2001:DB8:0:7:ffff:ffff:ffff:ffff")).toBe(LIMIT - 2)
    expect(await left("2001:db8:0:8::1")).toBe(LIMIT - 1)
  })

  test("the address that is counted is the one that is sealed, as an HMAC", async () => {
    const sealed = await sealedHash("203.0.113.5")
    expect(await sealedHash("198.51.100.1, ::ffff:203.0.113.5")).toBe(sealed)
    expect(await sealedHash("203.0.113.6")).not.toBe(sealed)
  })

  test("a header without an address there is the peer's own request", async () => {
    expect(await left()).toBe(LIMIT - 1)
    for (const [i, header] of ["", "nonsense", "203.0.113.7, unknown", "203.0.113.7:80"].entries())
      expect(await left(header)).toBe(LIMIT - 2 - i)
  })
})

describe("behind two trusted proxies", () => {
  const { left } = server("two", "--trust-proxy", "2")

  test("the second address from the right is the caller's", async () => {
    expect(await left("203.0.113.1, 10.0.0.1")).toBe(LIMIT - 1)
    expect(await left("198.51.100.9, 203.0.113.1, 10.0.0.2")).toBe(LIMIT - 2)
    expect(await left("203.0.113.2, 10.0.0.1")).toBe(LIMIT - 1)
  })

  test("who came past the first proxy is the peer", async () => {
    expect(await left("203.0.113.1")).toBe(LIMIT - 1)
    expect(await left()).toBe(LIMIT - 2)
  })
})
