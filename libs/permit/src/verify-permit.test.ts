/** Permits that are ours, for this act, now; and every other one. */
import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { sha256Hex, utf8Encode } from "@runseal/canonical"
import { CompactSign } from "jose"
import { beforeAll, describe, expect, test } from "vitest"
import { type ExpectedPermit, type PermitClaims, permitClaims, remoteKeys, verifyPermit } from "./index.ts"
import { signPermit } from "./sign-permit.ts"

const PAYLOAD = '{"amount":"120.00","to":"DE02"}'
const ADMITTED = Date.UTC(2026, 0, 15, 9, 30, 0)
const at = (seconds: number): Date => new Date(ADMITTED + seconds * 1000)

const FACTS = {
  issuer: "runseal.local - 1",
  audience: "payments",
  tenant_id: "api-key-7",
  permit_id: `pmt-${"0".repeat(32)}`,
  admission_clock: "2026-01-15T09:30:00.250Z",
  expires_at: "2026-01-15T09:35:00.250Z",
  program_id: "a".repeat(64),
  route_id: "payments/transfer",
  payload_hash: sha256Hex(utf8Encode(PAYLOAD)),
  reserve_tokens: 10,
  allow_token_hash: "b".repeat(64),
  redeem_required: false,
  opening: { leaf_hash: "c".repeat(64), log_id: Buffer.alloc(32, 1).toString("base64"), log_index: "4711" },
} as const

const newKey = () => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  return { privateKey, jwk: { kty: "EC", ...publicKey.export({ format: "jwk" }) } }
}
const service = newKey()
const jwks = { keys: [{ ...service.jwk, kid: "current", alg: "ES256", use: "sig" }] }

const EXPECTED = {
  payload: PAYLOAD,
  audience: "payments",
  route_id: "payments/transfer",
  program_id: "a".repeat(64),
  issuer: "runseal.local - 1",
  keys: jwks,
  now: at(10),
} satisfies ExpectedPermit

/** A token with any header and claims. */
const tokenOf = (
  { header = {}, claims = {} }: { readonly header?: object; readonly claims?: unknown },
  key: KeyObject = service.privateKey,
): Promise<string> => {
  const text = typeof claims === "string" ? claims : JSON.stringify({ ...permitClaims(FACTS), ...Object(claims) })
  return new CompactSign(utf8Encode(text))
    .setProtectedHeader({ alg: "ES256", typ: "runseal-permit+jwt", kid: "current", ...header })
    .sign(key)
}
const runsealOf = (change: object): object => ({ runseal: { ...permitClaims(FACTS).runseal, ...change } })

let permit: string
beforeAll(async () => {
  permit = await signPermit(permitClaims(FACTS), service.privateKey, "current")
})

test("a permit for this act gives what it states", async () => {
  expect(await verifyPermit(permit, EXPECTED)).toEqual({ ok: true, claims: permitClaims(FACTS) })
  const { payload: _, ...others } = EXPECTED
  expect(await verifyPermit(permit, { ...others, payload_hash: FACTS.payload_hash })).toMatchObject({ ok: true })
  expect(await verifyPermit(permit, { ...EXPECTED, payload: utf8Encode(PAYLOAD) })).toMatchObject({ ok: true })
})

test("times are rounded down to seconds", () => {
  const claims: PermitClaims = permitClaims(FACTS)
  expect([claims.iat, claims.nbf, claims.exp]).toEqual([0, 0, 300].map(seconds => ADMITTED / 1000 + seconds))
  expect(() => permitClaims({ ...FACTS, expires_at: "2026-01-15T09:35:00Z" })).toThrow(RangeError)
})

describe("an act that the permit is not for is refused", () => {
  test.each<[string, Partial<ExpectedPermit>]>([
    ["wrong_payload", { payload: `${PAYLOAD} ` }],
    ["wrong_audience", { audience: "refunds" }],
    ["wrong_route", { route_id: "payments/refund" }],
    ["wrong_program", { program_id: "d".repeat(64) }],
    ["wrong_issuer", { issuer: "runseal.local - 2" }],
    ["wrong_tenant", { tenant_id: "api-key-8" }],
    ["expired", { now: at(305) }],
    ["not_yet_valid", { now: at(-6) }],
  ])("%s", async (reason, change) => {
    const expected = { ...EXPECTED, ...change } as ExpectedPermit
    expect(await verifyPermit(permit, expected)).toEqual({ ok: false, reason, message: expect.any(String) })
  })

  test("the last second counts with the leeway, and no second after it", async () => {
    const verdict = async (seconds: number, leeway_seconds: number): Promise<boolean> =>
      (await verifyPermit(permit, { ...EXPECTED, now: at(seconds), leeway_seconds })).ok
    expect(await Promise.all([verdict(299.9, 0), verdict(300, 0), verdict(329.9, 30), verdict(330, 30)])).toEqual([
      true,
      false,
      true,
      false,
    ])
    expect(await Promise.all([verdict(0, 0), verdict(-0.001, 0), verdict(-30, 30), verdict(-30.001, 30)])).toEqual([
      true,
      false,
      true,
      false,
    ])
  })

  test("a permit whose decision was only observed counts only for one who accepts it", async () => {
    const observed = await signPermit(permitClaims({ ...FACTS, enforcement: "observe" }), service.privateKey, "current")
    expect(await verifyPermit(observed, EXPECTED)).toMatchObject({ reason: "observed" })
    const accepted = await verifyPermit(observed, { ...EXPECTED, accepts_observed: true })
    expect(accepted).toMatchObject({ ok: true, claims: { runseal: { enforcement: "observe" } } })
    expect(await verifyPermit(permit, { ...EXPECTED, accepts_observed: true })).toMatchObject({ ok: true })
  })

  test("a permit that must be redeemed counts only for one who redeems", async () => {
    const once = await signPermit(permitClaims({ ...FACTS, redeem_required: true }), service.privateKey, "current")
    expect(await verifyPermit(once, EXPECTED)).toMatchObject({ reason: "redeem_required" })
    expect(await verifyPermit(once, { ...EXPECTED, redeems: true })).toMatchObject({ ok: true })
    expect(await verifyPermit(permit, { ...EXPECTED, redeems: true, tenant_id: "api-key-7" })).toMatchObject({
      ok: true,
    })
  })
})

/** A last letter that decodes to the same bytes: the four lowest bits of the 86th letter of a signature are not used. */
const nextLetter = (text: string): string => ({ A: "B", Q: "R", g: "h", w: "x" })[text.slice(-1)] ?? "?"

describe("what is no permit is refused", () => {
  test.each<[string, string, { readonly header?: object; readonly claims?: unknown }]>([
    ["another type", "wrong_type", { header: { typ: "JWT" } }],
    ["no type", "wrong_type", { header: { typ: undefined } }],
    ["an unknown key id", "unknown_key", { header: { kid: "another" } }],
    ["no key id", "malformed", { header: { kid: undefined } }],
    ["a key of its own", "malformed", { header: { jwk: service.jwk } }],
    ["the address of a key", "malformed", { header: { jku: "https://keys.example/" } }],
    ["two audiences", "malformed", { claims: { aud: ["payments", "refunds"] } }],
    ["one audience in a list", "malformed", { claims: { aud: ["payments"] } }],
    ["no end", "malformed", { claims: { exp: undefined } }],
    ["no beginning", "malformed", { claims: { nbf: undefined } }],
    ["an end that is a text", "malformed", { claims: { exp: "1768469700" } }],
    ["an end between two seconds", "malformed", { claims: { exp: ADMITTED / 1000 + 300.5 } }],
    ["another member", "malformed", { claims: { scope: "all" } }],
    ["another member of ours", "malformed", { claims: runsealOf({ limit: 1 }) }],
    ["an enforcement that there is not", "malformed", { claims: runsealOf({ enforcement: "enforce" }) }],
    ["redeem_required: false", "malformed", { claims: runsealOf({ redeem_required: false }) }],
    ["claims that are no JSON", "malformed", { claims: "permit" }],
    ["a member twice", "malformed", { claims: JSON.stringify(permitClaims(FACTS)).replace("{", '{"aud":"x",') }],
  ])("%s", async (_, reason, changes) => {
    expect(await verifyPermit(await tokenOf(changes), EXPECTED)).toMatchObject({ ok: false, reason })
  })

  test("a header that demands an extension", async () => {
    const [, claims, signature] = permit.split(".")
    const withHeader = (header: object): string =>
      [Buffer.from(JSON.stringify(header)).toString("base64url"), claims, signature].join(".")
    const header = { alg: "ES256", typ: "runseal-permit+jwt", kid: "current" }
    expect(await verifyPermit(withHeader({ ...header, crit: ["b64"], b64: false }), EXPECTED)).toMatchObject({
      reason: "unknown_critical",
    })
    expect(await verifyPermit(withHeader({ ...header, alg: "none" }), EXPECTED)).toMatchObject({
      reason: "wrong_algorithm",
    })
    expect(await verifyPermit(withHeader({ ...header, alg: "HS256" }), EXPECTED)).toMatchObject({
      reason: "wrong_algorithm",
    })
  })

  test.each([
    ["nothing", "", "missing"],
    ["a word", "permit", "malformed"],
    ["two parts", "e30.e30", "malformed"],
    ["a header that is no object", `${Buffer.from("1").toString("base64url")}.e30.AA`, "malformed"],
    ["more than the longest permit", "e30.".repeat(5000), "malformed"],
  ])("%s", async (_, text, reason) => {
    expect(await verifyPermit(text, EXPECTED)).toMatchObject({ ok: false, reason })
  })

  test.each([
    ["padding behind its signature", (text: string) => `${text}==`],
    ["a line break at its end", (text: string) => `${text}\n`],
    ["a space within", (text: string) => text.replace(".", " .")],
    ["the letters of plain Base64", (text: string) => text.replaceAll("-", "+").replaceAll("_", "/").concat("=")],
    ["bits behind its signature that count for nothing", (text: string) => `${text.slice(0, -1)}${nextLetter(text)}`],
  ])("a permit with %s: the same bytes have one spelling", async (_, change) => {
    expect(await verifyPermit(change(permit), EXPECTED)).toMatchObject({ ok: false, reason: "malformed" })
  })

  test("a permit that another key signed under our key's id", async () => {
    expect(await verifyPermit(await tokenOf({}, newKey().privateKey), EXPECTED)).toMatchObject({
      reason: "bad_signature",
    })
  })

  test("a permit in which one bit of the claims or of the signature is another", async () => {
    for (const part of [1, 2]) {
      const parts = permit.split(".")
      const bytes = Buffer.from(parts[part] ?? "", "base64url")
      bytes[5] = (bytes[5] ?? 0) ^ 1
      parts[part] = bytes.toString("base64url")
      expect(await verifyPermit(parts.join("."), EXPECTED)).toMatchObject({ reason: "bad_signature" })
    }
  })
})

describe("what the caller expects is checked", () => {
  test.each<[string, object]>([
    ["a leeway above 30 s", { leeway_seconds: 31 }],
    ["a negative leeway", { leeway_seconds: -1 }],
    ["no leeway at all", { leeway_seconds: Number.NaN }],
    ["an invalid date", { now: new Date(Number.NaN) }],
    ["no payload", { payload: undefined }],
    ["a hash in capitals", { payload: undefined, payload_hash: FACTS.payload_hash.toUpperCase() }],
    ["no keys", { keys: undefined }],
    ["keys that are no document", { keys: { keys: "none" } }],
    ["a trust document that is none", { keys: undefined, trust: {} }],
    ["a trust document that is no JSON", { keys: undefined, trust: "{" }],
  ])("%s", async (_, change) => {
    await expect(verifyPermit(permit, { ...EXPECTED, ...change } as ExpectedPermit)).rejects.toThrow(RangeError)
  })

  test.each(["keys.example", "ftp://keys.example/", ""])("%s is no address of keys", address => {
    expect(() => remoteKeys(address)).toThrow(RangeError)
  })
})
