/**
 * Signing in with the identity provider: what a browser holds between the two steps, and the session at the end. docs/api.md, "Sessions".
 *
 * The browser holds a cookie of random bits, the time and the page to go to, under a MAC of this deployment. State, nonce and PKCE verifier
 * follow from it by the same secret, so that nothing is stored for a sign-in that nobody finishes, and any process can finish it. An answer
 * counts only beside the cookie of its own sign-in: another browser has none, or another one.
 */
import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto"
import { consolePage, PERSON_ROLES } from "@runseal/core/wire/session-requests"
import type { SignInOptions } from "../../options/sign-in-options.ts"
import type { PeopleProvider, SignedInPerson, SignInChecks } from "../../outbound/identity/people-provider.ts"
import type { StoredPerson } from "../../store/tables/sessions-table.ts"
import type { OwnCookie } from "./session-cookie.ts"
import type { RoleOf } from "./sessions.ts"

/** A sign-in that is not finished in this time is started again. */
const SIGN_IN_MAX_SECONDS = 600
/** 256 random bits. */
const RANDOM_BYTES = 32
/** `<milliseconds>.<random>.<page in base64url>.<MAC>`: the longest page of the console fits. */
const COOKIE = /^((\d{1,16})\.[0-9a-f]{64}\.([\w-]{0,700}))\.([0-9a-f]{64})$/

export const SIGN_IN_COOKIE: OwnCookie = { name: "runseal-sign-in", maxAgeSeconds: SIGN_IN_MAX_SECONDS }

export type StartedFlow = { readonly cookie: string; readonly url: string }

export type SignedIn = {
  /** With the groups that have a role or that a rule names, and those alone. */
  readonly person: StoredPerson
  /** The page to go to. */
  readonly next: string
}

/** How people sign in with the provider. */
export type SignIns = {
  /** Host of the provider, for people. */
  readonly host: string
  readonly roleOf: RoleOf
  /** @param next a page of the console, any text. @throws ProviderUnavailable */
  readonly start: (next: string | undefined) => Promise<StartedFlow>
  /**
   * @param cookie that the browser sent, any text
   * @param query with which it came back, any text
   * @returns undefined where the sign-in did not begin in this browser, or too long ago: the provider is not asked
   * @throws SignInRefused; ProviderUnavailable
   */
  readonly finish: (cookie: string | undefined, query: string) => Promise<SignedIn | undefined>
}

type SignInParts = {
  readonly secret: KeyObject
  readonly nowMs: () => number
  /** Whether a rule of the policy in force names a group whose persons approve. */
  readonly approves: (group: string) => boolean
}

/** @param provider of these options */
export function openSignIns(
  { provider: { issuer }, roles }: SignInOptions,
  provider: PeopleProvider,
  { secret, nowMs, approves }: SignInParts,
): SignIns {
  const mac = (use: string, text: string): string =>
    createHmac("sha256", secret).update(`sign_in_${use}\n${text}`).digest("hex")
  const checksOf = (signed: string): SignInChecks => ({
    state: mac("state", signed),
    nonce: mac("nonce", signed),
    verifier: mac("verifier", signed),
  })
  const withRights = ({ groups, ...person }: SignedInPerson): StoredPerson => ({
    ...person,
    groups: groups.filter(group => roles.has(group) || approves(group)),
  })
  return {
    host: provider.host,
    roleOf: person => {
      if (person.issuer !== issuer) return undefined
      const held = new Set(person.groups.map(group => roles.get(group)))
      return PERSON_ROLES.find(role => held.has(role))
    },
    start: async next => {
      const page = Buffer.from(consolePage(next)).toString("base64url")
      const signed = `${nowMs()}.${randomBytes(RANDOM_BYTES).toString("hex")}.${page}`
      const url = await provider.addressFor(checksOf(signed))
      return { cookie: `${signed}.${mac("cookie", signed)}`, url }
    },
    finish: async (cookie = "", query) => {
      const [, signed = "", started = "", next = "", given = ""] = COOKIE.exec(cookie) ?? []
      const expected = mac("cookie", signed)
      if (given.length !== expected.length || !timingSafeEqual(Buffer.from(given), Buffer.from(expected)))
        return undefined
      // The process that started it may have a clock that is a little ahead.
      const age = Math.abs(nowMs() - Number(started))
      const checks = checksOf(signed)
      // Before the provider is asked: an answer to the sign-in of another browser is no reason to use its code.
      if (age > SIGN_IN_MAX_SECONDS * 1000 || !isAnswerTo(query, checks)) return undefined
      const person = withRights(await provider.personOf(query, checks))
      return { person, next: consolePage(Buffer.from(next, "base64url").toString("utf8")) }
    },
  }
}

/** Whether a query has the state of the sign-in, once. */
function isAnswerTo(query: string, { state }: SignInChecks): boolean {
  const [sent = "", ...more] = new URLSearchParams(query).getAll("state")
  return more.length === 0 && sent.length === state.length && timingSafeEqual(Buffer.from(sent), Buffer.from(state))
}
