/**
 * The identity provider (OpenID Connect Discovery 1.0): its discovery document and its public keys. The operator named its issuer, and is
 * trusted to. What it answers is bounded, and cached for a short time. docs/identity.md.
 */
import { type JsonObject, readStrictJson, utf8Decode } from "@runseal/canonical"
import { isObject, textMember } from "@runseal/core/vocabulary/json-members"
import { createLocalJWKSet, errors, type JWSHeaderParameters, type JWTVerifyGetKey } from "jose"
import type { IdentityProvider } from "../../options/identity-options.ts"
import { isLoopback } from "../../options/operator-url.ts"
import { ask } from "../ask.ts"

/** For discovery document and keys together, and for each request of a sign-in, in milliseconds. */
export const PROVIDER_DEADLINE_MS = 5000
/** Bytes of each answer, after any content encoding is undone. */
export const PROVIDER_ANSWER_MAX_BYTES = 65_536
/** Discovery document and keys are used for so long after they were asked for, in milliseconds: a key that the provider withdrew verifies no longer than that. */
export const KEYS_CACHED_MS = 600_000
/** A token of an unknown key has the keys fetched at most once in this time, in milliseconds. */
export const UNKNOWN_KEY_PAUSE_MS = 30_000
/** After a fetch that failed, none begins for so long, in milliseconds. */
export const AFTER_FAILURE_MS = 5000
/** The header of a refusal while the provider is of no use: when to retry. */
export const RETRY_LATER = { "Retry-After": `${AFTER_FAILURE_MS / 1000}` }
/** Bits of an RSA modulus (RFC 7518 §3.3). */
const RSA_MIN_BITS = 2048

/**
 * Why the provider is of no use now, as the rest of a sentence that begins with "The identity provider". Nothing of its answer is quoted.
 * `isAway`: it gave no answer, or asked to be asked later.
 */
export class ProviderFailure extends Error {
  override readonly name = "ProviderFailure"
  readonly isAway: boolean
  constructor(message: string, isAway = false) {
    super(message)
    this.isAway = isAway
  }
}

/** The key of a token is none of the provider's. */
export class UnknownKey extends Error {
  override readonly name = "UnknownKey"
}

export type ProviderKeys = {
  /**
   * The key that verifies a token with this header. Header parameters that name or hold a key of the sender's (`jku`, `x5u`, `jwk`) are not read.
   * Rejects with ProviderFailure or UnknownKey.
   */
  readonly keyOf: JWTVerifyGetKey
  /** Fetches discovery document and keys. Rejects with ProviderFailure. */
  readonly refresh: () => Promise<void>
}

type Parts = {
  readonly provider: IdentityProvider
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Ends a fetch when the service stops. */
  readonly stop: AbortSignal
  /** Called when the provider fails after it did not, or is of use again. */
  readonly report: (failure: ProviderFailure | undefined) => void
}

type KeySet = ReturnType<typeof createLocalJWKSet>

/** The provider's keys. Nothing is fetched until they are needed. */
export function openProviderKeys({ provider, nowMs, stop, report }: Parts): ProviderKeys {
  let cached: { readonly keys: KeySet; readonly sinceMs: number } | undefined
  let failure: ProviderFailure | undefined
  let lastFetchMs = Number.NEGATIVE_INFINITY
  let underWay: Promise<KeySet> | undefined
  /** A clock that was set back makes what is remembered old. */
  const isWithin = (sinceMs: number, ms: number): boolean => nowMs() >= sinceMs && nowMs() - sinceMs < ms
  const settle = (found: ProviderFailure | undefined): void => {
    if (found?.message !== failure?.message) report(found)
    failure = found
  }
  const fetchOnce = async (): Promise<KeySet> => {
    const sinceMs = nowMs()
    lastFetchMs = sinceMs
    try {
      const keys = await fetchKeys(provider, AbortSignal.any([stop, AbortSignal.timeout(PROVIDER_DEADLINE_MS)]))
      cached = { keys, sinceMs }
      settle(undefined)
      return keys
    } catch (error) {
      if (error instanceof ProviderFailure) settle(error)
      throw error
    }
  }
  const fetchShared = (): Promise<KeySet> => {
    underWay ??= fetchOnce().finally(() => {
      underWay = undefined
    })
    return underWay
  }
  const current = async (): Promise<KeySet> => {
    if (cached !== undefined && isWithin(cached.sinceMs, KEYS_CACHED_MS)) return cached.keys
    if (underWay === undefined && failure !== undefined && isWithin(lastFetchMs, AFTER_FAILURE_MS)) throw failure
    return await fetchShared()
  }
  return {
    keyOf: async (header, token) => {
      const found = await keyIn(await current(), header, token)
      if (found !== undefined) return found
      // A key that the provider has since the last fetch.
      if (underWay === undefined && isWithin(lastFetchMs, UNKNOWN_KEY_PAUSE_MS)) throw failure ?? new UnknownKey()
      const fetched = await keyIn(await fetchShared(), header, token)
      if (fetched === undefined) throw new UnknownKey()
      return fetched
    },
    refresh: async () => void (await fetchShared()),
  }
}

type Token = Parameters<JWTVerifyGetKey>[1]

/** Undefined where no key fits. @throws UnknownKey where more than one does, or the one is too short to be safe */
async function keyIn(keys: KeySet, header: JWSHeaderParameters, token: Token): Promise<CryptoKey | undefined> {
  try {
    const key = await keys(header, token)
    if ("modulusLength" in key.algorithm && Number(key.algorithm.modulusLength) < RSA_MIN_BITS) throw new UnknownKey()
    return key
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return undefined
    throw new UnknownKey()
  }
}

/** @throws ProviderFailure */
async function fetchKeys(provider: IdentityProvider, signal: AbortSignal): Promise<KeySet> {
  const document = await fetchObject(discoveryAddress(provider.issuer), "its discovery document", signal)
  const { keys } = await fetchObject(keysAddress(provider, document), "its keys", signal)
  if (!Array.isArray(keys) || !keys.every(isObject)) throw new ProviderFailure("has keys that are no JWK Set.")
  return createLocalJWKSet({ keys })
}

/** OpenID Connect Discovery 1.0, part 4: a final slash of the issuer is removed. */
const discoveryAddress = (issuer: string): string => `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`

/** @throws ProviderFailure for a document of another issuer, or one that names no person or no keys */
function keysAddress({ issuer, personClaim }: IdentityProvider, document: JsonObject): URL {
  // A provider that answers with another issuer may be one that speaks for it.
  if (textMember(document, "issuer") !== issuer)
    throw new ProviderFailure("has another issuer in its discovery document than --issuer says, to the letter.")
  if (personClaim === "sub" && isPairwiseOnly(document))
    throw new ProviderFailure(
      "has pairwise subjects only, so sub is another one for each application: name the claim that is the person with --person-claim.",
    )
  const url = URL.parse(textMember(document, "jwks_uri") ?? "")
  const isLocal = url?.protocol === "http:" && isLoopback(url.hostname) && issuer.startsWith("http:")
  if (url === null || !(url.protocol === "https:" || isLocal))
    throw new ProviderFailure("names no https address of its keys.")
  return url
}

function isPairwiseOnly(document: JsonObject): boolean {
  const types = document.subject_types_supported
  return Array.isArray(types) && types.includes("pairwise") && !types.includes("public")
}

/** @param what it is, for the failure */
async function fetchObject(address: URL | string, what: string, signal: AbortSignal): Promise<JsonObject> {
  const question = { headers: { accept: "application/json" }, maxBytes: PROVIDER_ANSWER_MAX_BYTES, signal }
  const answer = await ask(address, question).catch(() => undefined)
  if (answer === undefined) throw new ProviderFailure(`gave no whole answer in time for ${what}.`, true)
  const { status, bytes } = answer
  if (status !== 200) {
    const isLater = status === 429 || status >= 500
    throw new ProviderFailure(`answered ${status} in place of ${what}; redirects are not followed.`, isLater)
  }
  if (bytes === undefined)
    throw new ProviderFailure(`answered more than ${PROVIDER_ANSWER_MAX_BYTES} bytes in place of ${what}.`)
  const value = readStrictJson(utf8Decode(bytes) ?? "")
  if (!isObject(value)) throw new ProviderFailure(`answered no JSON object in place of ${what}.`)
  return value
}
