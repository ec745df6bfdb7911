/** An identity provider that is broken or lies signs nobody in. docs/api.md, "Sessions"; decision 0347. */
import { createHmac } from "node:crypto"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import {
  compact,
  DISCOVERY,
  ELSEWHERE,
  FAULTS,
  type HostileProvider,
  type Members,
  providerKey,
  startProvider,
  tokenBy,
} from "../harness/hostile-provider.ts"
import { ADMIN, mint } from "../harness/key-holders.ts"
import { type Answer, expectRefused, textAt } from "../harness/read-answer.ts"
import { CLIENT, CONSOLE_ORIGIN, type SignInBrowser, signInBrowser, signInConfig } from "../harness/sign-in-browser.ts"
import { standingService } from "../harness/test-service.ts"

const KEY = providerKey("RS256")
let provider: HostileProvider
/** Of the sign-in that is under way: a browser would have brought it. */
let nonce = ""
beforeAll(async () => {
  provider = await startProvider()
  provider.keys.push(KEY)
})
afterAll(() => provider.close())
const service = standingService(() => ({ config: signInConfig(provider.issuer, new Map([["ops", "admin"]])) }))
beforeAll(() => mint(service(), ADMIN))
afterEach(() => {
  provider.reset()
  // What is cached of the provider is as old as it may be: the next test reads it anew.
  service().clock.advance(11 * 60_000)
})

/** The claims of an honest ID token. */
const honest = (): Members => ({
  iss: provider.issuer,
  aud: CLIENT.id,
  sub: "grace",
  name: "Grace",
  groups: ["ops"],
  nonce,
  iat: SECOND_S(0),
  exp: SECOND_S(300),
})
/** The next sign-ins get this token: an honest one where nothing is given. */
function give(change: (given: Members) => object = given => given, sign = (claims: object) => tokenBy(KEY, claims)) {
  provider.idToken = () => sign(change(honest()))
}
beforeEach(() => give())

const SECOND_S = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds

type Started = { readonly browser: SignInBrowser; readonly sent: URLSearchParams }

async function started(): Promise<Started> {
  const browser = signInBrowser(service)
  const answer = await browser.send("POST", "/session/sign-in", {})
  expect(answer.status, answer.text).toBe(201)
  const sent = new URL(textAt(answer.body, "url")).searchParams
  nonce = sent.get("nonce") ?? ""
  return { browser, sent }
}

/** Brings the provider's answer back. */
async function finished({ browser, sent }: Started, extra: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const query = new URLSearchParams({ code: "a code", state: sent.get("state") ?? "", ...extra })
  const answer = await browser.send("POST", "/session/sign-in/answer", { query: `${query}` })
  if (answer.status !== 201) expect(browser.cookies.has("runseal-session"), "no session").toBe(false)
  return answer
}

const refused = async (code: string, status: number): Promise<Answer> => {
  const answer = await finished(await started())
  expectRefused(answer, status)
  expect(answer.body).toMatchObject({ code })
  return answer
}

test("an honest answer signs in: what is refused below is refused for what it changes", async () => {
  const { browser, sent } = await started()
  expect(Object.fromEntries(sent)).toMatchObject({
    client_id: "runseal-console",
    redirect_uri: `${CONSOLE_ORIGIN}/console/callback`,
    response_type: "code",
    scope: "openid profile",
    code_challenge_method: "S256",
  })
  for (const name of ["state", "nonce", "code_challenge"]) expect(sent.get(name)?.length, name).toBeGreaterThan(42)
  const answer = await finished({ browser, sent })
  expect([answer.status, answer.body]).toMatchObject([201, { name: "Grace", scope: "admin", next: "/console" }])
})

test.each<[string, (claims: object) => string]>([
  ["nothing", claims => compact({ alg: "none" }, claims, () => Buffer.from(""))],
  [
    "the secret of the client",
    claims => compact({ alg: "HS256" }, claims, input => createHmac("sha256", CLIENT.secret).update(input).digest()),
  ],
  ["another key under the same kid", claims => tokenBy({ ...providerKey("RS256"), kid: KEY.kid }, claims)],
  ["a key of an unknown kid", claims => tokenBy(KEY, claims, { kid: "2" })],
])("a token signed with %s names nobody", async (_what, sign) => {
  give(given => given, sign)
  await refused("sign_in_refused", 403)
})

test.each<[what: string, change: (given: Members) => object]>([
  ["another issuer", given => ({ ...given, iss: "https://other.example" })],
  ["another audience", given => ({ ...given, aud: "another client" })],
  ["several audiences and no azp", given => ({ ...given, aud: ["runseal-console", "x"], azp: "x" })],
  ["another nonce", given => ({ ...given, nonce: "0".repeat(64) })],
  ["no nonce", ({ nonce: _nonce, ...given }) => given],
  ["an end that is over", given => ({ ...given, exp: SECOND_S(-60) })],
  ["no end", ({ exp: _exp, ...given }) => given],
  ["no subject", ({ sub: _sub, ...given }) => given],
  ["a subject of two lines", given => ({ ...given, sub: "grace\nada" })],
  ["a subject that is too long", given => ({ ...given, sub: "g".repeat(256) })],
  ["a list of groups that is none", given => ({ ...given, groups: [{ name: "ops" }] })],
  ["more groups than are read", given => ({ ...given, groups: Array(65).fill("ops") })],
  ["groups in another place", given => ({ ...given, groups: undefined, _claim_names: { groups: "src1" } })],
])("a token with %s names nobody", async (_what, change) => {
  give(change)
  await refused("sign_in_refused", 403)
})

test("a name that is no line, and one that is too long, is made one; without one the subject is shown", async () => {
  for (const [name, shown] of [
    ["Grace\n\u202eHopper\u0000", "Grace Hopper"],
    ["G".repeat(300), "G".repeat(256)],
    [" ", "grace"],
    [{}, "grace"],
  ]) {
    give(given => ({ ...given, name }))
    expect((await finished(await started())).body).toMatchObject({ name: shown })
    service().clock.advance(60_000)
  }
})

test("one group as a text is a list of it", async () => {
  give(given => ({ ...given, groups: "ops" }))
  expect((await finished(await started())).body).toMatchObject({ person: { groups: ["ops"] } })
})

test("an answer without a code, and one with an error besides, signs nobody in; nothing of it is repeated", async () => {
  const text = "<script>alert(1)</script>"
  for (const extra of [{ code: "" }, { error: "server_error", error_description: text }]) {
    const answer = await finished(await started(), extra)
    expectRefused(answer, 403)
    expect(answer.text).not.toContain("script")
  }
  expect(service().logLines.join("\n")).not.toContain("script")
})

test.each<[what: string, document: (given: Members) => object]>([
  ["another issuer", given => ({ ...given, issuer: "https://other.example" })],
  ["the issuer in another spelling", given => ({ ...given, issuer: `${provider.issuer}/` })],
  ["no address to sign in at", ({ authorization_endpoint: _start, ...given }) => given],
  ["an address to sign in at over plain HTTP", given => ({ ...given, authorization_endpoint: "http://id.example/" })],
  ["an address that runs a script", given => ({ ...given, authorization_endpoint: "javascript:alert(1)" })],
])("a discovery document with %s cannot be used", async (_what, document) => {
  provider.discovery = document
  const answer = await service().post("/session/sign-in", {})
  expectRefused(answer, 503)
  expect(answer.body).toMatchObject({ code: "sign_in_unavailable" })
  expect(answer.headers.get("set-cookie")).toBeNull()
})

test.each(["token_endpoint", "jwks_uri"])("a %s on another machine over plain HTTP is not asked", async name => {
  provider.discovery = given => ({ ...given, [name]: "http://192.0.2.1/x" })
  await refused("sign_in_unavailable", 503)
})

test.each([DISCOVERY, "/token", "/keys"])("%s that fails, leads elsewhere or has no end", async path => {
  for (const fault of ["unavailable", "large", "redirect", "away"] as const) {
    service().clock.advance(11 * 60_000)
    provider.reset()
    give()
    const one = path === DISCOVERY ? undefined : await started()
    provider.answers.set(path, FAULTS[fault])
    const refusal = one === undefined ? await service().post("/session/sign-in", {}) : await finished(one)
    expect([403, 503], refusal.text).toContain(refusal.status)
    expect(provider.asked).not.toContain(ELSEWHERE)
  }
})

test("a provider that does not answer is waited for, for five seconds", async () => {
  provider.answers.set(DISCOVERY, () => undefined)
  const began = Date.now()
  const answers = await Promise.all([1, 2].map(() => service().post("/session/sign-in", {})))
  expect(Date.now() - began).toBeGreaterThan(4900)
  expect(Date.now() - began).toBeLessThan(8000)
  for (const answer of answers) expectRefused(answer, 503)
  expect(provider.asked, "both wait for one request").toEqual([DISCOVERY])
  // A failure is not remembered.
  provider.reset()
  expect((await service().post("/session/sign-in", {})).status).toBe(201)
}, 20_000)

test("the operator reads why in the log, and the caller does not", async () => {
  give(given => ({ ...given, aud: "another client" }))
  const answer = await refused("sign_in_refused", 403)
  expect(answer.text).not.toMatch(/aud|claim|JWT/i)
  const line = service().logLines.findLast(one => one.includes("a sign-in with the identity provider failed"))
  expect(line).toContain("OAUTH_JWT_CLAIM_COMPARISON_FAILED")
  expect(line).not.toContain("another client")
})
