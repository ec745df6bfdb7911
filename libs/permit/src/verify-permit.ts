/** The check before an act: is this permit ours, for this act, now? docs/executors.md. */
import {
  isSha256Hex,
  type JsonObject,
  type JsonValue,
  parseStrictJson,
  sha256Hex,
  utf8Decode,
  utf8Encode,
} from "@runseal/canonical"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import type { DecidedAct } from "@runseal/core/verify/signed-approvals"
import { PERMIT_MAX_LENGTH } from "@runseal/core/wire/permit-requests"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { compactVerify, decodeProtectedHeader } from "jose"
import * as v from "valibot"
import { currentTime } from "./clock-and-network.ts"
import { PERMIT_ALGORITHM, PERMIT_TYPE, type PermitClaims, permitClaimsSchema } from "./permit-claims.ts"
import { givenKeys, type Jwks, type PermitKeys, readTrust, trustedServiceKeys } from "./permit-keys.ts"
import { type PermitRefusal, type RefusedPermit, refused } from "./permit-refusals.ts"
import { openingProblem } from "./permitted-opening.ts"
import {
  type ExpectedApprovals,
  judgeApprovals,
  type ProvenApprovals,
  readExpectedApprovals,
} from "./shown-approvals.ts"

/** Seconds by which clocks may differ: default and largest. */
const LEEWAY_DEFAULT_SECONDS = 5
export const LEEWAY_MAX_SECONDS = 30

/** The bytes that are about to be acted on, or their SHA-256 in lowercase hex. A text counts as its UTF-8 bytes. */
type ExpectedPayload =
  | { readonly payload: string | Uint8Array; readonly payload_hash?: undefined }
  | { readonly payload_hash: string; readonly payload?: undefined }

/** Whom to believe: the service's JWKS document or `remoteKeys` of its address, or a pinned trust document. */
export type ExpectedKeys =
  | { readonly keys: Jwks | PermitKeys; readonly trust?: undefined; readonly opening?: undefined }
  | {
      readonly trust: JsonObject | string
      readonly keys?: Jwks | PermitKeys | undefined
      /**
       * The permit's opening, as `POST /permits` gives it: it must verify offline with the trust document, signature, time and
       * inclusion, and say what the permit says.
       */
      readonly opening?: JsonObject | string | undefined
    }

/** The act, as the one who acts knows it, and never as the permit or the request says. */
export type ExpectedAct = {
  /** One's own name, which callers give as `audience`. */
  readonly audience: string
  /** The kind of work that is about to be done. */
  readonly route_id: string
  /** SHA-256 of the program that may ask for it, or of several. */
  readonly program_id: string | readonly string[]
  /** Origin of the service's log, as `/version` and the trust document name it. */
  readonly issuer: string
  /**
   * Whose permits count: `api-key-<number>`. Absent: those of every key of the service, each of which can name this audience, route
   * and program.
   */
  readonly tenant_id?: string | undefined
  /** True: a permit counts also where its decision was only observed. Absent: such a permit is refused. */
  readonly accepts_observed?: boolean | undefined
  /** Seconds by which this clock may differ from the service's: 0 to 30, 5 when absent. */
  readonly leeway_seconds?: number | undefined
}

export type ExpectedPermit = ExpectedPayload &
  ExpectedKeys &
  ExpectedAct & {
    /** True when the caller redeems the permit before the act; a permit that must be redeemed is refused without it. */
    readonly redeems?: boolean | undefined
    /** Whose approvals the act needs besides: persons who signed this act with passkeys. Absent: none. */
    readonly approvals?: ExpectedApprovals | undefined
    /** The header `Runseal-Approvals` that came with the permit; read only where approvals are needed. */
    readonly shown_approvals?: string | undefined
    /** Absent: the clock of this machine. */
    readonly now?: Date | undefined
  }

/** A permit that allows the act, with what it states and, where approvals are needed, who approved; or why it does not. */
export type PermitVerdict =
  | { readonly ok: true; readonly claims: PermitClaims; readonly approved?: ProvenApprovals }
  | RefusedPermit

const headerSchema = v.strictObject({
  alg: v.literal(PERMIT_ALGORITHM),
  typ: v.literal(PERMIT_TYPE),
  kid: v.pipe(v.string(), v.minLength(1)),
})

/**
 * Judges a permit. A permit that passes allows the act any number of times until it expires: redeem it to act once.
 * @throws RangeError for an expectation out of its bounds, never for anything that a permit holds
 */
export async function verifyPermit(permit: string, expected: ExpectedPermit): Promise<PermitVerdict> {
  const leeway = expected.leeway_seconds ?? LEEWAY_DEFAULT_SECONDS
  if (!(leeway >= 0 && leeway <= LEEWAY_MAX_SECONDS))
    throw new RangeError(`leeway_seconds is 0 to ${LEEWAY_MAX_SECONDS}`)
  const payloadHash = payloadHashOf(expected)
  const now = (expected.now?.getTime() ?? currentTime()) / 1000
  if (Number.isNaN(now)) throw new RangeError("now is an invalid date")
  const trust = expected.trust === undefined ? undefined : readTrust(expected.trust)
  const keys = keysOf(expected, trust)
  const approvals = expected.approvals && readExpectedApprovals(expected.approvals)

  const signed = await signedClaims(permit, keys, now)
  if (typeof signed === "string") return refused(signed)
  const reason =
    disagreement(signed, expected, payloadHash) ??
    untimely(signed, now, leeway) ??
    (trust && expected.opening !== undefined ? openingProblem(expected.opening, signed, trust) : undefined)
  if (reason !== undefined) return refused(reason)
  if (approvals === undefined) return { ok: true, claims: signed }
  const act = permittedAct(signed, expected, payloadHash)
  const times = { now, leeway, leewayMax: LEEWAY_MAX_SECONDS }
  const approved = judgeApprovals(expected.shown_approvals, approvals, { act, ...times })
  return typeof approved === "string" ? refused(approved) : { ok: true, claims: signed, approved }
}

/** The act that persons must have signed: as the one who acts knows it. Tenant, program and time are the permit's, which agrees with what is expected. */
const permittedAct = (
  { sub, nbf, exp, runseal }: PermitClaims,
  { issuer, audience, route_id }: ExpectedPermit,
  payload_hash: string,
): DecidedAct => ({
  log_origin: issuer,
  tenant_id: sub,
  audience,
  program_id: runseal.program_id,
  route_id,
  payload_hash,
  valid_for_seconds: exp - nbf,
})

function payloadHashOf({ payload, payload_hash }: ExpectedPermit): string {
  if (payload !== undefined) return sha256Hex(typeof payload === "string" ? utf8Encode(payload) : payload)
  if (payload_hash === undefined || !isSha256Hex(payload_hash))
    throw new RangeError("payload_hash is 64 lowercase hex digits")
  return payload_hash
}

function keysOf({ keys, opening }: ExpectedPermit, trust: TrustedKeys | undefined): PermitKeys {
  if (trust === undefined && opening !== undefined) throw new RangeError("an opening needs a trust document")
  if (keys === undefined) {
    if (trust === undefined) throw new RangeError("keys or trust is needed")
    return trustedServiceKeys(trust)
  }
  return "find" in keys ? keys : givenKeys(keys)
}

/** The claims that one of the service's keys signed. */
async function signedClaims(permit: string, keys: PermitKeys, now: number): Promise<PermitClaims | PermitRefusal> {
  const header = headerOf(permit)
  if (typeof header === "string") return header
  const key = await keys.find(header.kid, now)
  if (typeof key === "string") return key
  const bytes = await signedBytes(permit, key)
  if (bytes === undefined) return "bad_signature"
  const claims = parseExact(permitClaimsSchema, jsonOf(bytes))
  return claims.ok ? claims.value : "malformed"
}

/**
 * The one spelling of three parts (RFC 7515 §2 and §7.1), the last one a signature of 64 bytes: decoders also take padding, spaces and other
 * letters, which the signature does not cover.
 */
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]{85}[AQgw]$/

type Header = v.InferOutput<typeof headerSchema>

/** The header, in which the permit chooses nothing but the key. */
function headerOf(permit: string): Header | PermitRefusal {
  if (typeof permit !== "string" || permit === "") return "missing"
  if (permit.length > PERMIT_MAX_LENGTH || !COMPACT_JWS.test(permit)) return "malformed"
  const header = decodedHeader(permit)
  if (header === undefined) return "malformed"
  if (header.alg !== PERMIT_ALGORITHM) return "wrong_algorithm"
  if (header.typ !== PERMIT_TYPE) return "wrong_type"
  if ("crit" in header) return "unknown_critical"
  const parsed = parseExact(headerSchema, header)
  return parsed.ok ? parsed.value : "malformed"
}

function decodedHeader(permit: string): ReturnType<typeof decodeProtectedHeader> | undefined {
  try {
    return decodeProtectedHeader(permit)
  } catch {
    return undefined
  }
}

async function signedBytes(permit: string, key: Parameters<typeof compactVerify>[1]): Promise<Uint8Array | undefined> {
  try {
    return (await compactVerify(permit, key, { algorithms: [PERMIT_ALGORITHM] })).payload
  } catch {
    return undefined
  }
}

function jsonOf(bytes: Uint8Array): JsonValue | undefined {
  try {
    return parseStrictJson(utf8Decode(bytes) ?? "")
  } catch {
    return undefined
  }
}

/** What the permit says otherwise than the one who acts. */
function disagreement(claims: PermitClaims, expected: ExpectedPermit, payloadHash: string): PermitRefusal | undefined {
  const { iss, aud, sub, runseal } = claims
  if (iss !== expected.issuer) return "wrong_issuer"
  if (aud !== expected.audience) return "wrong_audience"
  if (expected.tenant_id !== undefined && sub !== expected.tenant_id) return "wrong_tenant"
  if (![expected.program_id].flat().includes(runseal.program_id)) return "wrong_program"
  if (runseal.route_id !== expected.route_id) return "wrong_route"
  if (runseal.payload_hash !== payloadHash) return "wrong_payload"
  if (runseal.enforcement !== undefined && expected.accepts_observed !== true) return "observed"
  return runseal.redeem_required && expected.redeems !== true ? "redeem_required" : undefined
}

function untimely({ nbf, exp }: PermitClaims, now: number, leeway: number): PermitRefusal | undefined {
  if (nbf > now + leeway) return "not_yet_valid"
  return now >= exp + leeway ? "expired" : undefined
}
