/** Service keys of tests, and permits that they sign, valid from now on. */
import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { sha256Hex, utf8Encode } from "@runseal/canonical"
import { type Jwk, type PermitFacts, permitClaims } from "../src/index.ts"
import { signPermit } from "../src/sign-permit.ts"

export type TestKey = { readonly kid: string; readonly privateKey: KeyObject; readonly jwk: Jwk }

export function newKey(kid: string): TestKey {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  return { kid, privateKey, jwk: { kty: "EC", ...publicKey.export({ format: "jwk" }), kid, alg: "ES256", use: "sig" } }
}

export const PAYLOAD = '{"amount":"120.00","to":"DE02"}'

/** The act that `permitNow` permits. */
export const ACT = {
  issuer: "runseal.local - 1",
  audience: "payments",
  program_id: "a".repeat(64),
  route_id: "payments/transfer",
} as const

/** A permit for the act, admitted a second ago unless a clock is given. */
export function permitNow(key: TestKey, change: Partial<PermitFacts> = {}): Promise<string> {
  const admitted = Date.parse(change.admission_clock ?? new Date(Date.now() - 1000).toISOString())
  const facts = {
    ...ACT,
    tenant_id: "api-key-7",
    permit_id: `pmt-${"0".repeat(32)}`,
    admission_clock: new Date(admitted).toISOString(),
    expires_at: new Date(admitted + 300_000).toISOString(),
    payload_hash: sha256Hex(utf8Encode(PAYLOAD)),
    reserve_tokens: 0,
    allow_token_hash: "b".repeat(64),
    redeem_required: false,
    opening: { leaf_hash: "c".repeat(64), log_id: Buffer.alloc(32, 1).toString("base64"), log_index: "4711" },
  }
  return signPermit(permitClaims({ ...facts, ...change }), key.privateKey, key.kid)
}
