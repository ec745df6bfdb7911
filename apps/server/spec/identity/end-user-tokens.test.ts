/** Tokens of end users before a provider that is hostile, slow or away. docs/identity.md, "What is checked". */
import { createHmac } from "node:crypto"
import { END_USER_HEADER, END_USER_TOKEN_MAX_LENGTH } from "@runseal/core/wire/end-user-token"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import {
  AFTER_FAILURE_MS,
  KEYS_CACHED_MS,
  PROVIDER_DEADLINE_MS,
  UNKNOWN_KEY_PAUSE_MS,
} from "../../src/outbound/identity/identity-provider.ts"
import { clearDeclaredTerms } from "../../src/store/tables/run-terms.ts"
import { asking, closed } from "../harness/asked-permits.ts"
import {
  AUDIENCE,
  compact,
  DISCOVERY,
  ELSEWHERE,
  FAULTS,
  type HostileProvider,
  type ProviderFault,
  type ProviderKey,
  providerKey,
  startProvider,
  tokenBy,
  trusting,
} from "../harness/hostile-provider.ts"
import { type Answer, at, expectRefused, listAt, numberAt, objectAt, textAt } from "../harness/read-answer.ts"
import { minted } from "../harness/read-tables.ts"
import { request } from "../harness/sample-requests.ts"
import { dumpTables, spellings } from "../harness/spellings.ts"
import { openService, type TestService } from "../harness/test-service.ts"

const ES = providerKey("ES256")
const STRANGER = { ...providerKey("ES256"), kid: ES.kid }

let provider: HostileProvider
let service: TestService
beforeAll(async () => {
  provider = await startProvider()
  provider.keys.push(ES)
  service = await openService({ config: trusting(provider.issuer) })
})
afterAll(async () => {
  await service.close()
  await provider.close()
})
beforeEach(() => {
  provider.reset()
})

const nowSeconds = (): number => service.clock.nowMs() / 1000
const claimsOf = (changes: object = {}): object => ({
  iss: provider.issuer,
  sub: "grace",
  aud: AUDIENCE,
  client_id: "chat-app",
  iat: Math.floor(nowSeconds()) - 10,
  exp: Math.floor(nowSeconds()) + 300,
  jti: "token-1",
  ...changes,
})
type Parts = { readonly header?: object; readonly claims?: object; readonly key?: ProviderKey }
const tokenOf = ({ header = {}, claims = {}, key = ES }: Parts = {}): string =>
  tokenBy(key, claimsOf(claims), { typ: "at+jwt", ...header })

const sendTo = async (path: string, body: object, token?: string, key?: string): Promise<Answer> =>
  service.postRaw(path, JSON.stringify(body), {
    "Content-Type": "application/json",
    ...(token === undefined ? {} : { [END_USER_HEADER]: token }),
    ...(key === undefined ? {} : { "Idempotency-Key": key }),
  })
const send = (token?: string): Promise<Answer> => sendTo("/execute", request(), token)
const accepted = async (token: string): Promise<void> => {
  const answer = await send(token)
  expect(answer.status, answer.text).toBe(200)
}
/** The sentence of a refusal that left nothing behind. */
async function refused(token: string, status = 401): Promise<string> {
  const before = await minted(service.db)
  const answer = await send(token)
  expect(await minted(service.db), "nothing is sealed").toEqual(before)
  const sentence = expectRefused(answer, status, status === 401 ? "end_user_token_invalid" : "end_user_unavailable")
  expect(answer.headers.get(status === 401 ? "www-authenticate" : "retry-after")).not.toBeNull()
  for (const piece of token.split(".").filter(({ length }) => length > 8))
    expect(answer.text + service.logLines.join("\n")).not.toContain(piece)
  return sentence
}

test("a token that a client got for itself has no person (RFC 9068, section 2.2)", async () => {
  for (const claims of [{ sub: "chat-app" }, { sub: "batch", azp: "batch" }])
    expect(await refused(tokenOf({ claims }))).toContain("without a person")
})

describe("a token of the provider is read into the record", () => {
  test("of a run, with what it says and without itself", async () => {
    const token = tokenOf({ claims: { azp: "front-end" } })
    const answer = await send(token)
    expect(answer.status, answer.text).toBe(200)
    const bundle = await service.get(`/runs/${numberAt(answer.body, "run_id")}/artifacts`)
    expect(objectAt(bundle.body, "sections", "end_user")).toMatchObject({
      kind: "vfa.end_user.v1",
      issuer: provider.issuer,
      subject: "grace",
      audience: AUDIENCE,
      client: "front-end",
      token_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    for (const piece of token.split(".")) expect(bundle.text).not.toContain(piece)
  })

  test("by which a search finds the run, until the operator clears its index", async () => {
    const { body } = await send(tokenOf({ claims: { sub: "zoe" } }))
    const found = async (query: object): Promise<readonly unknown[]> => {
      const page = await service.get(`/runs/search?${new URLSearchParams({ ...query })}`)
      return listAt(page.body, "runs").map(run => at(run, "id"))
    }
    expect(await found({ end_user: "zoe", end_user_issuer: provider.issuer })).toEqual([body.run_id])
    expect(await found({ end_user: "zoe", end_user_issuer: "https://other.example" })).toEqual([])
    expect(await found({ actor_id: "zoe" })).toEqual([])
    await clearDeclaredTerms(service.db, service.clock.nowMs() + 1, undefined)
    expect(await found({ end_user: "zoe" })).toEqual([])
  })

  test("of a permit, and of the run that closes it, which needs no token", async () => {
    const opened = await sendTo("/permits", asking(), tokenOf())
    expect(opened.status, opened.text).toBe(201)
    expect(objectAt(opened.body, "opening", "sections", "end_user")).toMatchObject({ subject: "grace" })
    const { body } = await closed(service, textAt(opened.body, "permit_id"))
    const bundle = await service.get(`/runs/${numberAt(body, "run_id")}/artifacts`)
    expect(objectAt(bundle.body, "sections", "end_user")).toEqual(
      objectAt(opened.body, "opening", "sections", "end_user"),
    )
  })

  test.each(["RS256", "PS256", "ES256", "EdDSA"] as const)("signed with %s", async alg => {
    const key = providerKey(alg)
    provider.keys.push(key)
    service.clock.advance(UNKNOWN_KEY_PAUSE_MS)
    await accepted(tokenOf({ key }))
  })

  test.each<[string, Parts]>([
    ["typ application/at+jwt", { header: { typ: "application/at+jwt" } }],
    ["typ JWT without nonce", { header: { typ: "JWT" } }],
    ["two audiences", { claims: { aud: ["other", AUDIENCE] } }],
    ["without jti and client", { claims: { jti: undefined, client_id: undefined } }],
    ["the address of keys, which is not read", { header: { jku: "https://keys.example/", x5u: "https://x.example/" } }],
    ["a key of its own, which is not read", { header: { jwk: STRANGER.jwk } }],
  ])("%s", async (_, parts) => {
    const before = provider.asked.length
    await accepted(tokenOf(parts))
    expect(provider.asked.length, "nothing is fetched for it").toBe(before)
  })

  test("without a token there is no end user", async () => {
    const answer = await send()
    expect(answer.status).toBe(200)
    const bundle = await service.get(`/runs/${numberAt(answer.body, "run_id")}/artifacts`)
    expect(objectAt(bundle.body, "sections")).not.toHaveProperty("end_user")
  })
})

describe("a token is refused", () => {
  const HS = (): string => {
    const pem = Buffer.from(JSON.stringify(ES.jwk))
    return compact({ alg: "HS256", typ: "at+jwt", kid: ES.kid }, claimsOf(), input =>
      createHmac("sha256", pem).update(input).digest(),
    )
  }
  const NONE = (): string => compact({ alg: "none", typ: "at+jwt", kid: ES.kid }, claimsOf(), () => Buffer.from(""))
  const NO_KEY = "no key of the identity provider signed it"

  test.each<[string, () => string, string]>([
    ["unsigned (none)", NONE, NO_KEY],
    ["HS256 with the public key", HS, NO_KEY],
    ["of another key under the same kid", () => tokenOf({ key: STRANGER }), NO_KEY],
    ["of a key that it brings itself", () => tokenOf({ key: STRANGER, header: { jwk: STRANGER.jwk } }), NO_KEY],
    ["of an unknown kid", () => tokenOf({ header: { kid: "another" } }), NO_KEY],
    ["with a critical header that nobody knows", () => tokenOf({ header: { crit: ["x"], x: 1 } }), NO_KEY],
    ["no JWT", () => "a.b", NO_KEY],
    ["empty", () => "", NO_KEY],
    ["with Bearer before it", () => `Bearer ${tokenOf()}`, NO_KEY],
    ["an ID token with nonce", () => tokenOf({ header: { typ: "JWT" }, claims: { nonce: "n" } }), "an ID token"],
    ["an ID token with at_hash", () => tokenOf({ header: { typ: "JWT" }, claims: { at_hash: "h" } }), "an ID token"],
    ["of another type", () => tokenOf({ header: { typ: "logout+jwt" } }), "neither at+jwt nor JWT"],
    ["without a type", () => tokenOf({ header: { typ: undefined } }), "neither at+jwt nor JWT"],
    ["bound to a key (cnf)", () => tokenOf({ claims: { cnf: { jkt: "x" } } }), "(cnf)"],
    ["of another issuer", () => tokenOf({ claims: { iss: `${provider.issuer}/` } }), "another issuer"],
    ["for another audience", () => tokenOf({ claims: { aud: "https://other.example" } }), "another audience"],
    ["without an audience", () => tokenOf({ claims: { aud: undefined } }), "another audience"],
    ["expired for 61 s", () => tokenOf({ claims: { exp: nowSeconds() - 61 } }), "expired"],
    ["valid in 62 s", () => tokenOf({ claims: { nbf: nowSeconds() + 62 } }), "not valid yet"],
    ["issued in 62 s", () => tokenOf({ claims: { iat: nowSeconds() + 62 } }), "later than now"],
    ["without an end", () => tokenOf({ claims: { exp: undefined } }), "how long it is valid"],
    ["without a time of issue", () => tokenOf({ claims: { iat: undefined } }), "when it was issued"],
    [
      "that ends before it was issued",
      () => tokenOf({ claims: { iat: nowSeconds(), exp: nowSeconds() - 1 } }),
      "ends before",
    ],
    ["with an end that no record can hold", () => tokenOf({ claims: { exp: 1e15 } }), "its times"],
    ["without a person", () => tokenOf({ claims: { sub: undefined } }), "its claim sub"],
    ["with a person that is a number", () => tokenOf({ claims: { sub: 7 } }), "its claim sub"],
    ["with an empty person", () => tokenOf({ claims: { sub: "" } }), "its claim sub"],
    ["with a person in control characters", () => tokenOf({ claims: { sub: "a\u0000b" } }), "its claim sub"],
    ["with a person of 513 characters", () => tokenOf({ claims: { sub: "p".repeat(513) } }), "its claim sub"],
  ])("%s", async (_, token, why) => {
    expect(await refused(token())).toContain(why)
  })

  test("longer than 8 KiB, and one of 8 KiB is not", async () => {
    const short = tokenOf({ claims: { pad: "" } }).length
    // Three characters of a claim are four of the token.
    const padded = (characters: number): string =>
      tokenOf({ claims: { pad: "p".repeat(Math.floor(((characters - short) * 3) / 4)) } })
    const fits = padded(END_USER_TOKEN_MAX_LENGTH)
    expect(END_USER_TOKEN_MAX_LENGTH - fits.length).toBeLessThan(3)
    await accepted(fits)
    const over = `${fits}${"A".repeat(END_USER_TOKEN_MAX_LENGTH + 1 - fits.length)}`
    expect(over.length).toBe(END_USER_TOKEN_MAX_LENGTH + 1)
    expect(await refused(over)).toContain("longer than 8192")
  })

  test("signed with an RSA key of 1024 bits", async () => {
    const key = providerKey("RS256", 1024)
    provider.keys.push(key)
    service.clock.advance(UNKNOWN_KEY_PAUSE_MS)
    expect(await refused(tokenOf({ key }))).toContain(NO_KEY)
  })

  test("within a minute of its times it is not", async () => {
    await accepted(tokenOf({ claims: { iat: nowSeconds() - 120, exp: nowSeconds() - 59 } }))
    await accepted(tokenOf({ claims: { nbf: nowSeconds() + 59 } }))
    await accepted(tokenOf({ claims: { iat: nowSeconds() + 59 } }))
  })
})

describe("keys", () => {
  test("of a flood of unknown kids are fetched at most once in 30 s", async () => {
    service.clock.advance(UNKNOWN_KEY_PAUSE_MS)
    const fetches = (): number => provider.asked.filter(path => path === "/keys").length
    const before = fetches()
    const flood = Array.from({ length: 200 }, (_, index) => send(tokenOf({ header: { kid: `kid-${index}` } })))
    expect(new Set((await Promise.all(flood)).map(({ status }) => status))).toEqual(new Set([401]))
    expect(fetches()).toBe(before + 1)
    service.clock.advance(UNKNOWN_KEY_PAUSE_MS - 5000)
    await refused(tokenOf({ header: { kid: "one more" } }))
    expect(fetches()).toBe(before + 1)
    service.clock.advance(5000)
    await refused(tokenOf({ header: { kid: "one more" } }))
    expect(fetches()).toBe(before + 2)
  })

  test("that the provider withdrew are used for ten minutes at most", async () => {
    const key = providerKey("ES256")
    provider.keys.push(key)
    service.clock.advance(KEYS_CACHED_MS)
    await accepted(tokenOf({ key }))
    provider.keys.pop()
    service.clock.advance(KEYS_CACHED_MS - 5000)
    await accepted(tokenOf({ key }))
    service.clock.advance(5000)
    await refused(tokenOf({ key }))
  })

  test.each<[ProviderFault, string]>([
    ["away", "gave no whole answer in time for its discovery document"],
    ["unavailable", "answered 503 in place of its keys"],
    ["redirect", "answered 302 in place of its keys"],
    ["large", "answered more than 65536 bytes in place of its keys"],
    ["no keys", "has keys that are no JWK Set"],
  ])("are kept while the provider is %s, and then there is 503 until it is back", async (fault, line) => {
    service.clock.advance(KEYS_CACHED_MS)
    await accepted(tokenOf())
    provider.answers.set(fault === "away" ? DISCOVERY : "/keys", FAULTS[fault])
    await accepted(tokenOf())
    service.clock.advance(KEYS_CACHED_MS)
    const asked = provider.asked.length
    await refused(tokenOf(), 503)
    await refused(tokenOf(), 503)
    expect(provider.asked.length - asked, "asked once, and no address that it redirects to").toBeLessThanOrEqual(2)
    expect(provider.asked).not.toContain(ELSEWHERE)
    expect(service.logLines.some(text => text.includes(line))).toBe(true)
    provider.reset()
    service.clock.advance(AFTER_FAILURE_MS)
    await accepted(tokenOf())
    expect((await send()).status, "without a token nobody asks for keys").toBe(200)
  })

  test("that come too slowly are given up after 5 s", async () => {
    service.clock.advance(KEYS_CACHED_MS)
    provider.answers.set("/keys", FAULTS.slow)
    const since = performance.now()
    await refused(tokenOf(), 503)
    expect(performance.now() - since).toBeLessThan(PROVIDER_DEADLINE_MS + 2000)
    service.clock.advance(AFTER_FAILURE_MS)
  }, 20_000)
})

describe("an idempotency key belongs to an end user", () => {
  test("another person under it is 409, the same person with a fresh token gets the first answer", async () => {
    const key = '"of-grace"'
    const first = await sendTo("/execute", request(), tokenOf(), key)
    expect(first.status).toBe(200)
    const again = await sendTo("/execute", request(), tokenOf({ claims: { jti: "token-2" } }), key)
    expect({ text: again.text, replayed: again.headers.get("idempotency-replayed") }).toEqual({
      text: first.text,
      replayed: "true",
    })
    for (const token of [tokenOf({ claims: { sub: "ada" } }), undefined])
      expect(expectRefused(await sendTo("/execute", request(), token, key), 409, "idempotency_key_reused")).toContain(
        "another end user",
      )
  })
})

test("no part of a token is stored or logged, nor its id, nor a group that no rule names", async () => {
  const token = tokenOf({ claims: { sub: "in-the-record", jti: "canary-of-the-id", groups: ["canary-of-a-group"] } })
  await accepted(token)
  expect((await sendTo("/permits", asking(), token)).status).toBe(201)
  const text = (await dumpTables(service.db, 13)) + service.logLines.join("")
  expect(text, "the search reads what is stored").toContain("in-the-record")
  const secrets = [...token.split(".").slice(1), "canary-of-the-id", "canary-of-a-group"]
  expect(secrets.flatMap(spellings).filter(one => text.includes(one))).toEqual([])
})

test("a caller's own origin.end_user is 400", async () => {
  const body = request({ request_substance: { origin: { end_user: "grace" } } })
  expect(expectRefused(await sendTo("/execute", body), 400, "invalid_field")).toContain("end_user")
})
