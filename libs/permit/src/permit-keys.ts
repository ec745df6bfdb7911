/** Where the key comes from that checks a permit: a JWKS document, the service's address, or a pinned trust document. */
import { encodeBase64Url, type JsonObject, parseStrictJson } from "@runseal/canonical"
import { REDEEMED_VALID_SECONDS_MAX } from "@runseal/core/artifacts/opening"
import { parseP256Spki } from "@runseal/log/keys/spki"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { createLocalJWKSet, createRemoteJWKSet, customFetch, errors, importJWK } from "jose"
import { boundedAnswer, type Fetch, platformFetch, REQUEST_TIMEOUT_MS } from "./clock-and-network.ts"
import { PERMIT_ALGORITHM } from "./permit-claims.ts"
import type { PermitRefusal } from "./permit-refusals.ts"

/** A key of a JWKS document (RFC 7517 §4); members besides these are ignored. */
export type Jwk = {
  readonly kty: string
  readonly kid?: string
  readonly crv?: string
  readonly x?: string
  readonly y?: string
  readonly use?: string
  readonly alg?: string
}
/** A JWKS document (RFC 7517 §5), as a service has at `/.well-known/jwks.json`. */
export type Jwks = { readonly keys: readonly Jwk[] }

/** Finds keys by the id that a permit names. */
export type PermitKeys = {
  /** The key of that id at a time in Unix seconds, or why there is none. */
  readonly find: (kid: string, now: number) => Promise<CryptoKey | PermitRefusal>
}

/** A cached document is used for at most this long: a revoked key is refused at the latest then. */
const CACHE_MS = 300_000
/** An unknown key id is looked for at most this often, so that invented ids ask the service for nothing. */
const COOLDOWN_MS = 30_000

/**
 * Keys of a service, read from its address when they are needed: `https://…/.well-known/jwks.json`. Keep the result and use it for
 * every permit, since it holds the cache.
 * @throws RangeError for what is no http or https address
 */
export function remoteKeys(address: string | URL, send: Fetch = platformFetch): PermitKeys {
  const url = URL.canParse(`${address}`) ? new URL(address) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new RangeError("an address is of http or https")
  const resolve = createRemoteJWKSet(url, {
    cacheMaxAge: CACHE_MS,
    cooldownDuration: COOLDOWN_MS,
    timeoutDuration: REQUEST_TIMEOUT_MS,
    [customFetch]: async (href, init) => await boundedAnswer(await send(href, init)),
  })
  return { find: kid => found(resolve({ alg: PERMIT_ALGORITHM, kid })) }
}

/** Keys of a document at hand. @throws RangeError for what is no JWKS document */
export function givenKeys(document: Jwks): PermitKeys {
  const resolve = localSet(document)
  return { find: kid => found(resolve({ alg: PERMIT_ALGORITHM, kid })) }
}

function localSet({ keys }: Jwks): ReturnType<typeof createLocalJWKSet> {
  try {
    return createLocalJWKSet({ keys: keys.map(key => ({ ...key })) })
  } catch {
    throw new RangeError("keys is no JWKS document")
  }
}

async function found(key: Promise<CryptoKey>): Promise<CryptoKey | PermitRefusal> {
  try {
    return await key
  } catch (error) {
    const isUnknown = error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys
    return isUnknown ? "unknown_key" : "keys_unavailable"
  }
}

/**
 * The service keys of a trust document. One that was replaced checks permits as long as one of its own may be valid; one that is revoked
 * checks nothing, whenever the permit says it was signed.
 */
export const trustedServiceKeys = ({ serviceKeys }: TrustedKeys): PermitKeys => ({
  find: async (kid, now) => {
    const key = serviceKeys.find(({ keyId }) => keyId === kid)
    if (key === undefined || now < key.validFrom || (key.revokedFrom !== undefined && now >= key.revokedFrom))
      return "unknown_key"
    if (key.validTo !== undefined && now > key.validTo + REDEEMED_VALID_SECONDS_MAX) return "unknown_key"
    return await importPoint(parseP256Spki(key.spki) ?? new Uint8Array())
  },
})

/** @param point 0x04 ‖ x ‖ y */
async function importPoint(point: Uint8Array): Promise<CryptoKey | PermitRefusal> {
  const [x, y] = [encodeBase64Url(point.subarray(1, 33)), encodeBase64Url(point.subarray(33))]
  try {
    const key = await importJWK({ kty: "EC", crv: "P-256", x, y }, PERMIT_ALGORITHM)
    return key instanceof Uint8Array ? "unknown_key" : key
  } catch {
    return "unknown_key"
  }
}

/** @throws RangeError for a trust document that cannot be relied on */
export function readTrust(document: JsonObject | string): TrustedKeys {
  const trust = parseTrust(typeof document === "string" ? parsed(document) : document)
  if ("problem" in trust) throw new RangeError(trust.problem)
  return trust
}

function parsed(text: string): ReturnType<typeof parseStrictJson> {
  try {
    return parseStrictJson(text)
  } catch {
    throw new RangeError("The trust document is not strict JSON.")
  }
}
