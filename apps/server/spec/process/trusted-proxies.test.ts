/** Who an anonymous caller is, over real sockets: the peer, or as many trusted proxies further as the operator says. */
import { join } from "node:path"
import type { JsonValue } from "@runseal/canonical"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type Child, startChild } from "../harness/child.ts"
import { type Answer, numberAt, readAnswer, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"

const LIMIT = 12
const JSON_TYPE = { "Content-Type": "application/json" }
const folder = testFolder("runseal-address")

const SPAN = {
  traceId: "a".repeat(32),
  spanId: "b".repeat(16),
  name: "chat model-1",
  attributes: [{ key: "gen_ai.operation.name", value: { stringValue: "chat" } }],
}
const HOOK = {
  hook_event_name: "PreToolUse",
  session_id: "session-1",
  tool_use_id: "call-1",
  tool_name: "Bash",
  tool_input: { command: "ls" },
  cwd: "/",
}

/** X-Forwarded-For; or the header fields themselves. */
type Forwarded = string | Readonly<Record<string, string>> | undefined

/** A server whose anonymous callers have `LIMIT` requests a minute. */
function server(name: string, ...options: readonly string[]) {
  let child: Child | undefined
  beforeAll(async () => {
    child = await startChild(["--data-dir", join(folder, name), "--anonymous-rate-limit", `${LIMIT}`, ...options])
  })
  afterAll(async () => {
    await child?.end("SIGKILL")
  })
  const ask = async (path: string, forwarded: Forwarded, init: RequestInit = {}): Promise<Answer> => {
    const fields = typeof forwarded === "string" ? { "X-Forwarded-For": forwarded } : forwarded
    return readAnswer(await fetch(`${child?.url}${path}`, { ...init, headers: { ...init.headers, ...fields } }))
  }
  return {
    ask,
    /** Requests that are left to whom the server takes the caller for. */
    left: async (forwarded?: Forwarded): Promise<number> => {
      const { headers } = await ask("/runs?limit=1", forwarded)
      return Number(/r=(\d+)/.exec(headers.get("RateLimit") ?? "")?.[1])
    },
    status: async (forwarded?: Forwarded): Promise<number> => (await ask("/runs?limit=1", forwarded)).status,
    /** The hash of the caller's address as it is sealed. Two requests. */
    sealedHash: async (forwarded?: Forwarded): Promise<string> => {
      const init = { method: "POST", headers: JSON_TYPE, body: JSON.stringify(request()) }
      const run = numberAt((await ask("/execute", forwarded, init)).body, "run_id")
      const { body } = await ask(`/runs/${run}/artifacts`, forwarded)
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
    for (let i = 7; i <= LIMIT; i++) expect(await left(`203.0.113.${i}`)).toBe(LIMIT - i)
    expect(await status("203.0.113.2")).toBe(429)
    expect(await status()).toBe(429)
  })
})

describe("behind one trusted proxy", () => {
  const { ask, left, status, sealedHash } = server("one", "--trust-proxy", "1")

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

  test("with a port, as Azure and IIS write it, each caller is one, whatever its port", async () => {
    expect(await left("203.0.113.30:51234")).toBe(LIMIT - 1)
    expect(await left("203.0.113.30:51235")).toBe(LIMIT - 2)
    expect(await left("203.0.113.30")).toBe(LIMIT - 3)
    expect(await left("203.0.113.31:51234")).toBe(LIMIT - 1)
    expect(await left("[2001:db8::1]:443")).toBe(LIMIT - 1)
    expect(await left("[2001:db8::2]:444")).toBe(LIMIT - 2)
    expect(await left("[2001:db8:0:1::1]:443")).toBe(LIMIT - 1)
    expect(await sealedHash("203.0.113.32:1024")).toBe(await sealedHash("203.0.113.32:1025"))
  })

  test("who tries to sign in without end locks out no other", async () => {
    const signIn = async (from: string): Promise<number> =>
      (await ask("/session", from, { method: "POST", headers: JSON_TYPE, body: '{"key":"wrong"}' })).status
    for (let i = 0; i < 20; i++) expect(await signIn(`203.0.113.40:${40_000 + i}`)).toBe(201)
    expect(await signIn("203.0.113.40:50000")).toBe(429)
    expect(await signIn("203.0.113.41:40000")).toBe(201)
  })

  test("Forwarded is not read", async () => {
    const before = await left()
    expect(await left({ Forwarded: "for=203.0.113.50" })).toBe(before - 1)
  })

  test("a header without an address there is the peer's own request", async () => {
    const before = await left()
    for (const [i, header] of ["", "nonsense", "203.0.113.7, unknown", "203.0.113.7, _hidden"].entries())
      expect(await left(header)).toBe(before - 1 - i)
  })
})

describe("behind two trusted proxies", () => {
  const { left } = server("two", "--trust-proxy", "2")

  test("the second address from the right is the caller's", async () => {
    expect(await left("203.0.113.1, 10.0.0.1")).toBe(LIMIT - 1)
    expect(await left("198.51.100.9, 203.0.113.1, 10.0.0.2")).toBe(LIMIT - 2)
    expect(await left("203.0.113.2, 10.0.0.1")).toBe(LIMIT - 1)
  })

  test("a caller that a proxy hides counts as that proxy, not as the one next to this service", async () => {
    expect(await left("unknown, 10.0.1.1")).toBe(LIMIT - 1)
    expect(await left("_a1b2, 10.0.1.1:8080")).toBe(LIMIT - 2)
    expect(await left("nonsense, 10.0.1.2")).toBe(LIMIT - 1)
    expect(await left("203.0.113.9, unknown")).toBe(LIMIT - 1)
    const peer = await left("unknown, unknown")
    expect(await left()).toBe(peer - 1)
  })

  test("who came past the first proxy is the peer", async () => {
    const peer = await left("203.0.113.1")
    expect(await left()).toBe(peer - 1)
  })
})

describe("behind a proxy that writes Forwarded", () => {
  const { ask, left } = server("forwarded", "--trust-proxy", "1", "--proxy-header", "forwarded")

  test.each<readonly [door: string, path: string, body: JsonValue]>([
    ["traces", "/v1/traces", { resourceSpans: [{ scopeSpans: [{ spans: [SPAN] }] }] }],
    ["hooks", "/hooks/claude-code", HOOK],
  ])("what a door sends for a caller counts as that caller's: %s", async (door, path, body) => {
    const from = { Forwarded: `for=${door === "traces" ? "203.0.113.60" : "203.0.113.61"}` }
    const before = await left(from)
    const own = door === "traces" ? 1 : 0
    const sent = await ask(path, from, { method: "POST", headers: JSON_TYPE, body: JSON.stringify(body) })
    expect(sent.status).toBe(200)
    expect(await left(from)).toBe(before - own - 2)
  })

  test("that header is read, and X-Forwarded-For is not, which such a proxy passes on as it came", async () => {
    expect(await left({ Forwarded: "for=203.0.113.1" })).toBe(LIMIT - 1)
    expect(await left({ Forwarded: 'for=198.51.100.9, for="203.0.113.1:8080";proto=https' })).toBe(LIMIT - 2)
    expect(await left({ Forwarded: "for=203.0.113.1", "X-Forwarded-For": "203.0.113.9" })).toBe(LIMIT - 3)
    expect(await left({ Forwarded: 'for="[2001:db8::1]:443"' })).toBe(LIMIT - 1)
    expect(await left({ "X-Forwarded-For": "203.0.113.1" }), "the peer").toBe(LIMIT - 1)
    expect(await left({ Forwarded: "for=unknown" }), "the peer").toBe(LIMIT - 2)
    expect(await left({ Forwarded: 'for="203.0.113.9, for=203.0.113.1' }), "a mark that is never closed").toBe(
      LIMIT - 4,
    )
  })
})

type Written = readonly [header: string, from: (address: string) => Readonly<Record<string, string>>]
describe.each<Written>([
  ["x-forwarded-for", address => ({ "X-Forwarded-For": `${address}, ${address}:51234`, "X-Forwarded-Proto": "https" })],
  ["forwarded", address => ({ Forwarded: `for=198.51.100.9, for="${address}:51234";proto=https` })],
])("at the console of a locked service, behind a proxy that writes %s", (header, from) => {
  const { ask } = server(`console-${header}`, "--trust-proxy", "1", "--proxy-header", header)
  const signIn = async (key: string, address: string): Promise<number> => {
    const headers = { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin" }
    const body = new URLSearchParams({ key, next: "/console" }).toString()
    return (await ask("/console/sign-in", from(address), { method: "POST", headers, body, redirect: "manual" })).status
  }

  test("wrong keys of one client lock out that client, and no other", async () => {
    const body = JSON.stringify({ name: "ops", scope: "admin", confirm_admin_scope: true })
    const minted = await ask("/admin/keys", undefined, { method: "POST", headers: JSON_TYPE, body })
    const key = textAt(minted.body, "secret")
    for (let i = 0; i < 20; i++) expect(await signIn("wrong", "203.0.113.40")).toBe(403)
    expect(await signIn(key, "203.0.113.40")).toBe(429)
    expect(await signIn(key, "203.0.113.41")).toBe(303)
    // The other header, which the proxy passes on as it came, makes nobody another.
    const other = {
      ...from("203.0.113.40"),
      [header === "forwarded" ? "X-Forwarded-For" : "Forwarded"]: "for=203.0.113.9",
    }
    const headers = { ...JSON_TYPE, ...other }
    expect((await ask("/session", undefined, { method: "POST", headers, body: JSON.stringify({ key }) })).status).toBe(
      429,
    )
  })
})
