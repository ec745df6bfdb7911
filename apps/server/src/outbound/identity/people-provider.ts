/**
 * Signs people in with the operator's identity provider: the authorization code flow with PKCE, by `openid-client`. The provider is trusted to
 * say who a person is and which groups it has, and for nothing else: its addresses, sizes and times have bounds, and no text of it is
 * passed on. OpenID Connect Core 1.0 section 3.1; RFC 7636; RFC 9207. docs/identity.md, "People who sign in".
 */
import { ACTOR_NAME_MAX_LENGTH } from "@runseal/core/vocabulary/scalars"
import * as client from "openid-client"
import { isLoopback } from "../../options/operator-url.ts"
import type { SignInOptions } from "../../options/sign-in-options.ts"
import { ask } from "../ask.ts"
import { KEYS_CACHED_MS, PROVIDER_ANSWER_MAX_BYTES, PROVIDER_DEADLINE_MS } from "./identity-provider.ts"
import { type Claims, personClaims } from "./person-claims.ts"

/** The provider does not answer, or not as it must: nobody can sign in now. */
export class ProviderUnavailable extends Error {
  override readonly name = "ProviderUnavailable"
}

/** What the provider answered signs nobody in: it refused, or its tokens are not those of this sign-in. */
export class SignInRefused extends Error {
  override readonly name = "SignInRefused"
}

/** Secrets of one sign-in, of at least 128 random bits each. */
export type SignInChecks = {
  /** Binds the answer to the browser that began. */
  readonly state: string
  /** Binds the ID token to the sign-in. */
  readonly nonce: string
  /** Binds the code to the sign-in: 43 to 128 characters. RFC 7636 section 4.1 */
  readonly verifier: string
}

/** Whom the provider named. */
export type SignedInPerson = {
  readonly issuer: string
  readonly subject: string
  /** One line. */
  readonly display_name: string
  /** All that the token lists. */
  readonly groups: readonly string[]
}

export type PeopleProvider = {
  /** Host of the issuer, for people. */
  readonly host: string
  /** Where the browser goes. @throws ProviderUnavailable */
  readonly addressFor: (checks: SignInChecks) => Promise<string>
  /**
   * Exchanges the code of an answer for tokens, and verifies them.
   * @param query with which the browser came back, any text
   * @throws SignInRefused; ProviderUnavailable
   */
  readonly personOf: (query: string, checks: SignInChecks) => Promise<SignedInPerson>
}

/** https, or plain HTTP of this machine. */
const isSafe = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && isLoopback(hostname))

/** The requests of the library, through the one HTTP client. */
const boundedFetch: client.CustomFetch = async (address, { method, headers, body, signal }) => {
  const url = URL.parse(address)
  if (url === null || !isSafe(url) || !["GET", "POST"].includes(method))
    throw new ProviderUnavailable("the provider names an address that is not https")
  const deadline = AbortSignal.timeout(PROVIDER_DEADLINE_MS)
  const answer = await ask(url, {
    ...(method === "POST" ? { body: String(body ?? "") } : {}),
    headers: Object.fromEntries(new Headers(headers)),
    maxBytes: PROVIDER_ANSWER_MAX_BYTES,
    signal: signal === undefined || signal === null ? deadline : AbortSignal.any([signal, deadline]),
  }).catch((cause: unknown) => {
    throw new ProviderUnavailable("the provider does not answer", { cause })
  })
  if (answer.bytes === undefined) throw new ProviderUnavailable("an answer of the provider is too large")
  if (answer.status >= 500) throw new ProviderUnavailable("the provider answers with a failure of its own")
  return new Response(new Uint8Array(answer.bytes), {
    status: answer.status,
    headers: { "Content-Type": answer.contentType ?? "" },
  })
}

/** Signatures of ID tokens are verified, although TLS protects them as well; plain HTTP is for a provider on this machine. */
const settingsOf = ({ provider }: SignInOptions) => [
  client.enableNonRepudiationChecks,
  ...(new URL(provider.issuer).protocol === "http:" ? [client.allowInsecureRequests] : []),
]

async function discover(options: SignInOptions): Promise<client.Configuration> {
  const { provider, clientId, clientSecret } = options
  const found = await client.discovery(new URL(provider.issuer), clientId, {}, clientAuthentication(clientSecret), {
    [client.customFetch]: boundedFetch,
    timeout: PROVIDER_DEADLINE_MS / 1000,
    execute: settingsOf(options),
  })
  const { issuer, authorization_endpoint: start } = found.serverMetadata()
  if (issuer !== provider.issuer) throw new ProviderUnavailable("the provider is not the issuer that --issuer names")
  const url = start === undefined ? null : URL.parse(start)
  if (url === null || !isSafe(url)) throw new ProviderUnavailable("the provider names no address to sign in at")
  return found
}

/** As the provider wants the secret: in the header, which every provider must take (RFC 6749 section 2.3.1), or else in the body. */
const clientAuthentication = (secret: string): client.ClientAuth => {
  const [inHeader, inBody] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)]
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"]
    return (methods.includes("client_secret_basic") ? inHeader : inBody)(server, ...rest)
  }
}

/** @param nowMs milliseconds since the epoch */
export function openPeopleProvider(options: SignInOptions, nowMs: () => number): PeopleProvider {
  const discovered = cachedFor(KEYS_CACHED_MS, nowMs, () => discover(options))
  const configuration = (): Promise<client.Configuration> =>
    discovered().catch((cause: unknown) => {
      throw unavailableFor(cause) ?? new ProviderUnavailable("the provider cannot be used", { cause })
    })
  return {
    host: new URL(options.provider.issuer).host,
    addressFor: async ({ state, nonce, verifier }) =>
      client.buildAuthorizationUrl(await configuration(), {
        redirect_uri: options.redirectUri,
        scope: `openid ${options.scopes}`,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        nonce,
      }).href,
    personOf: async (query, { state, nonce, verifier }) => {
      const found = await configuration()
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
      const tokens = await client
        .authorizationCodeGrant(found, answerAt(options.redirectUri, query), checks)
        .catch((cause: unknown) => {
          throw unavailableFor(cause) ?? new SignInRefused("the provider's answer signs nobody in", { cause })
        })
      return personIn(tokens.claims() ?? {}, options)
    },
  }
}

function answerAt(redirectUri: string, query: string): URL {
  const url = new URL(redirectUri)
  url.search = query
  return url
}

/** Whether an error of the library comes of a request that had no usable answer. */
function unavailableFor(error: unknown): ProviderUnavailable | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof ProviderUnavailable) return cause
  return undefined
}

/** What is made is cached for a time, and made by one caller for all that ask meanwhile. A failure is not cached. */
function cachedFor<Cached>(ms: number, nowMs: () => number, make: () => Promise<Cached>): () => Promise<Cached> {
  let cached: { readonly at: number; readonly made: Promise<Cached> } | undefined
  return () => {
    if (cached === undefined || Math.abs(nowMs() - cached.at) >= ms) {
      const making = { at: nowMs(), made: make() }
      cached = making
      making.made.catch(() => {
        if (cached === making) cached = undefined
      })
    }
    return cached.made
  }
}

/** @param claims of a verified ID token */
function personIn(claims: Claims, { provider }: SignInOptions): SignedInPerson {
  const { subject, groups } = personClaims(claims, provider)
  if (subject === undefined) throw new SignInRefused("the token has no usable claim for the person")
  if (groups === "unreadable")
    throw new SignInRefused("the token does not list all groups of the person, or more than are read")
  return {
    issuer: provider.issuer,
    subject,
    display_name: nameIn(claims, subject),
    groups: groups === "absent" ? [] : groups,
  }
}

/** As the provider names the person, in one line; the subject where it has no name for it. */
function nameIn({ name, preferred_username, email }: Claims, subject: string): string {
  const names = [name, preferred_username, email].flatMap(one => (typeof one === "string" ? [oneLine(one)] : []))
  return names.find(one => one !== "") ?? subject
}

const oneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Cf}]+/gu, " ")
    .trim()
    .slice(0, ACTOR_NAME_MAX_LENGTH)
    .toWellFormed()
