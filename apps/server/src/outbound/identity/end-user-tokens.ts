/**
 * Access tokens of end users (RFC 9068, and JWTs like it): verified, and read into what a record may hold. A token is a secret of the person:
 * it is neither stored nor logged. docs/identity.md, "What is checked".
 */

import { END_USER_TEXT_MAX_LENGTH, type EndUser } from "@runseal/core/artifacts/end-user"
import { tokenHash } from "@runseal/core/formulas/pre-execution"
import { SUBJECT_MAX_LENGTH } from "@runseal/core/vocabulary/scalars"
import { END_USER_HEADER, END_USER_TOKEN_MAX_LENGTH } from "@runseal/core/wire/end-user-token"
import { errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from "jose"
import { HttpError } from "../../http-error.ts"
import type { EndUserOptions } from "../../options/identity-options.ts"
import { ProviderFailure, type ProviderKeys, RETRY_LATER } from "./identity-provider.ts"
import { personClaims } from "./person-claims.ts"

const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
/** Seconds by which the provider's clock may differ from ours. */
export const LEEWAY_SECONDS = 60
/** The last second that RFC 3339 can write. */
const LATEST_SECOND = 253_402_300_799
/** Claims of an ID token: who presents one has signed in somewhere, and was given no access to anything. */
const ID_TOKEN_CLAIMS = ["nonce", "at_hash", "c_hash"]

/** Decision 0082: a 401 has a challenge, and no browser opens a dialog for this one. */
const CHALLENGE = { "WWW-Authenticate": `EndUser realm="runseal", header="${END_USER_HEADER}"` }

const invalid = (why: string): HttpError =>
  new HttpError("end_user_token_invalid", `The token in ${END_USER_HEADER} is not accepted: ${why}`, CHALLENGE)

export const endUserRequired = (): HttpError =>
  new HttpError(
    "end_user_required",
    `This service decides on acts for a person only: send the person's access token in the header ${END_USER_HEADER}.`,
    CHALLENGE,
  )

const unavailable = (): HttpError =>
  new HttpError(
    "end_user_unavailable",
    "The identity provider gives no keys now, so the token of the end user cannot be verified; nothing was acknowledged. Try again.",
    RETRY_LATER,
  )

export type EndUserTokens = {
  /** Whether a request for a decision without a token is refused. */
  readonly isRequired: boolean
  /** Whose token it is. Rejects with 401 `end_user_token_invalid`, or 503 `end_user_unavailable`. */
  readonly read: (token: string) => Promise<EndUser>
}

/** Where no audience is configured: a token that nobody verifies is refused, since its sender counts on it. */
export const NO_END_USERS: EndUserTokens = {
  isRequired: false,
  read: () =>
    Promise.reject(invalid("this service takes none, until its operator gives --issuer and --end-user-audience.")),
}

/** @param nowMs milliseconds since the epoch */
export function openEndUserTokens(options: EndUserOptions, keys: ProviderKeys, nowMs: () => number): EndUserTokens {
  const { provider, audiences, mode } = options
  return {
    isRequired: mode === "required",
    read: async token => {
      if (token.length > END_USER_TOKEN_MAX_LENGTH)
        throw invalid(`it is longer than ${END_USER_TOKEN_MAX_LENGTH} characters.`)
      const verified = await jwtVerify(token, keys.keyOf, {
        algorithms: ALGORITHMS,
        issuer: provider.issuer,
        audience: [...audiences],
        clockTolerance: LEEWAY_SECONDS,
        currentDate: new Date(nowMs()),
        requiredClaims: ["exp", "iat"],
      }).catch((error: unknown) => {
        throw error instanceof ProviderFailure ? unavailable() : invalid(reasonOf(error))
      })
      return endUserOf(verified, options, nowMs())
    },
  }
}

/** Reasons by the claim that has a wrong value. */
const CLAIM_REASONS: Readonly<Record<string, string>> = {
  iss: "another issuer issued it.",
  aud: "it is for another audience.",
  nbf: "it is not valid yet.",
  exp: "it does not say how long it is valid.",
  iat: "it does not say when it was issued.",
}

/** Every failure that is not known refuses the token as a wrong signature does. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "it has expired."
  const known = error instanceof errors.JWTClaimValidationFailed ? CLAIM_REASONS[error.claim] : undefined
  return known ?? `no key of the identity provider signed it with one of ${ALGORITHMS.join(", ")}.`
}

/** @throws HttpError 401 for a token that is of another kind, or does not say who the person is */
function endUserOf(
  { protectedHeader, payload }: JWTVerifyResult,
  { provider, audiences }: EndUserOptions,
  now: number,
): EndUser {
  refuseOtherKinds(protectedHeader.typ, payload)
  const named = [payload.aud ?? []].flat()
  const audience = audiences.find(one => named.includes(one))
  const { subject, groups } = personClaims(payload, provider)
  if (audience === undefined || subject === undefined)
    throw invalid(`its claim ${provider.personClaim} is no line of 1 to ${SUBJECT_MAX_LENGTH} characters.`)
  const issuedMs = millisecondsOf(payload.iat)
  const expiresMs = millisecondsOf(payload.exp)
  if (issuedMs > now + LEEWAY_SECONDS * 1000) throw invalid("it says that it is issued later than now.")
  if (expiresMs < issuedMs) throw invalid("it says that it ends before it was issued.")
  const client = textOf(payload, "azp") ?? textOf(payload, "client_id")
  // RFC 9068 §2.2: of a token that a client got for itself, the subject is the client. There is no person then.
  if ([memberOf(payload, "azp"), memberOf(payload, "client_id")].includes(subject))
    throw invalid("it is a client's own, without a person.")
  const id = textOf(payload, "jti")
  return {
    issuer: provider.issuer,
    subject,
    audience,
    ...(client === undefined ? {} : { client }),
    issued_at: new Date(issuedMs).toISOString(),
    expires_at: new Date(expiresMs).toISOString(),
    ...(id === undefined ? {} : { token_hash: tokenHash(provider.issuer, id) }),
    // Often the client that asks for the token decides whether it speaks of groups: one that does not is as one that cannot be read.
    ...(typeof groups === "string" ? {} : { groups }),
  }
}

/** RFC 9068 §2.1 has a type of its own for access tokens. Many providers write JWT, as ID tokens have it. */
function refuseOtherKinds(typ: string | undefined, payload: JWTPayload): void {
  const type = typ?.toLowerCase().replace(/^application\//, "")
  if (type !== "at+jwt" && type !== "jwt") throw invalid("its typ is neither at+jwt nor JWT.")
  if (type === "jwt" && ID_TOKEN_CLAIMS.some(name => Object.hasOwn(payload, name)))
    throw invalid("it is an ID token; an access token is needed.")
  if (Object.hasOwn(payload, "cnf"))
    throw invalid("it is bound to a key of its holder (cnf), and this service cannot ask for a proof of that key.")
}

/** NumericDate (RFC 7519 §2), rounded down. @throws HttpError 401 for a time that no record can hold */
function millisecondsOf(seconds: number | undefined): number {
  if (seconds === undefined || !(seconds >= 0 && seconds <= LATEST_SECOND))
    throw invalid("its times are not seconds since 1970.")
  return Math.floor(seconds * 1000)
}

const memberOf = (payload: JWTPayload, name: string): unknown =>
  Object.hasOwn(payload, name) ? payload[name] : undefined

/** A text that a record can hold; undefined for any other value. */
const isShort = (value: unknown): value is string =>
  typeof value === "string" &&
  value.length >= 1 &&
  value.length <= END_USER_TEXT_MAX_LENGTH &&
  value.isWellFormed() &&
  !/\p{Cc}/u.test(value)

function textOf(payload: JWTPayload, name: string): string | undefined {
  const value = memberOf(payload, name)
  return isShort(value) ? value : undefined
}
