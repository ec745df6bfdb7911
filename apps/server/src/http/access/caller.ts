/** The caller of a request, as authentication found it, and what is sealed of the request's origin. */

import { createHmac, type KeyObject } from "node:crypto"
import type { EventFacts } from "@runseal/core/artifacts/admin-event"
import type { Origin } from "@runseal/core/artifacts/declared-sections"
import { PERSON_ACTOR } from "@runseal/core/vocabulary/scalars"
import type { KeyScope, KeyTier } from "@runseal/core/wire/key-requests"
import type { PersonRole } from "@runseal/core/wire/session-requests"
import type { Submission, Tenant } from "@runseal/core/wire/submission"
import type { Context } from "hono"
import * as v from "valibot"
import { type ActiveKey, keyActor } from "../../store/tables/api-keys.ts"
import type { StoredPerson } from "../../store/tables/sessions-table.ts"
import { callerAddress, type Proxies } from "../caller-address.ts"
import type { Counted } from "./request-counter.ts"
import type { BrowserSession } from "./sessions.ts"

/** A key, or the anonymous caller of open mode. It has runs of its own. */
export type KeyCaller = {
  /** 0 for the anonymous caller of open mode. */
  readonly api_key_id: number
  readonly tenant: Tenant
  readonly authentication: Origin["authentication"]
  readonly scope: "anonymous" | KeyScope
  /** Absent for the anonymous caller. */
  readonly tier?: KeyTier
  /** Its own budgets and rate limit; absent where the deployment's hold. */
  readonly budgets?: Submission["budgets"]
  readonly rate_limit?: number
  /** Of an auditor: the keys whose runs it reads; absent: all. */
  readonly reads?: readonly number[]
  /** Of an auditor: it shares what it reads. */
  readonly share?: true
  /** Whether its key was made to ask for what is only observed. */
  readonly observe?: true
  /** Of a key of scope approver: whose it is, by the operator's word, and the groups of that person. */
  readonly approver?: { readonly subject: string; readonly groups: readonly string[] }
  readonly person?: undefined
}

/** A person who signed in with the identity provider. It has no key and no runs: it reads, and an admin administers. */
export type PersonCaller = {
  readonly person: StoredPerson
  readonly scope: PersonRole
  readonly reads?: undefined
  readonly share?: undefined
}

export type Caller = KeyCaller | PersonCaller

declare module "hono" {
  interface ContextVariableMap {
    /** Set by the authentication middleware alone, and never from a field of the request. */
    caller: Caller | undefined
    /** Set by the authentication middleware, where it has counted the request for its rate limit. */
    counted: Counted | undefined
    /** The same, where a session took the place of the key. */
    session: BrowserSession | undefined
  }
}

/** api_key_id of a caller without a key. */
export const ANONYMOUS_KEY_ID = 0

/** The caller of every request in open mode. */
export const ANONYMOUS: KeyCaller = {
  api_key_id: ANONYMOUS_KEY_ID,
  tenant: { tenant_id: "anonymous", owner: ANONYMOUS_KEY_ID },
  authentication: { method: "anonymous", api_key_id: ANONYMOUS_KEY_ID },
  scope: "anonymous",
}

export const tenantOfKey = (key_id: number): Tenant => ({ tenant_id: `api-key-${key_id}`, owner: key_id })

/** The caller with a key. The key is the tenant, not its name: two keys may have the same name. */
export const keyCaller = ({ key_id, name, scope, tier, ...own }: ActiveKey): KeyCaller => ({
  api_key_id: key_id,
  tenant: tenantOfKey(key_id),
  authentication: { method: "api_key", api_key_id: key_id, api_key_name: name },
  scope,
  tier,
  budgets: {
    ...(own.run_token_budget < 0 ? {} : { run_tokens: own.run_token_budget }),
    ...(own.window_token_budget < 0 ? {} : { window_tokens: own.window_token_budget }),
  },
  ...(own.rate_limit < 0 ? {} : { rate_limit: own.rate_limit }),
  ...(own.reads === "" ? {} : { reads: readIds(own.reads) }),
  ...(own.share ? { share: true } : {}),
  ...(own.observe ? { observe: true } : {}),
  ...(own.person === "" ? {} : { approver: { subject: own.person, groups: readNames(own.groups) } }),
})

/** The stored list of an auditor's keys. @throws Error when it is none: nothing is read then */
export const readIds = (stored: string): readonly number[] => v.parse(v.array(v.number()), JSON.parse(stored))

/** A stored list of groups or persons; of none, "". @throws Error when it is no list: nobody has a group then */
export const readNames = (stored: string): readonly string[] =>
  stored === "" ? [] : v.parse(v.array(v.string()), JSON.parse(stored))

/** Who a request's admin event names. */
export function whoOf(caller: Caller): EventFacts["who"] {
  if (caller.person !== undefined) {
    const { display_name: name, issuer, subject } = caller.person
    return { actor: PERSON_ACTOR, name, issuer, subject }
  }
  const { authentication, api_key_id } = caller
  return authentication.api_key_name === undefined
    ? { actor: "open-mode" }
    : keyActor({ key_id: api_key_id, name: authentication.api_key_name })
}

/** One text for each caller: of a key by its number, of a person by issuer and subject, which hold no line break. */
export const identityOf = (caller: Caller): string =>
  caller.person === undefined ? `${caller.api_key_id}` : `${caller.person.issuer}\n${caller.person.subject}`

/** The caller of a request. @throws Error for a route that was registered before authentication: it fails closed */
export function callerOf(c: Context): Caller {
  const caller: Caller | undefined = c.get("caller")
  if (caller === undefined) throw new Error("this route needs a caller and is registered before authentication")
  return caller
}

/** The same where the caller has runs of its own. @throws Error for a person, whom the row of the endpoint does not admit */
export function keyCallerOf(c: Context): KeyCaller {
  const caller = callerOf(c)
  if (caller.person !== undefined) throw new Error("this endpoint is about runs of the caller, and a person has none")
  return caller
}

/** How long ago the caller signed in, in milliseconds; longer than any limit where it has no session. */
export const sinceSignIn = (c: Context, now: number): number => now - (c.get("session")?.opened_at ?? 0)

/** Who counts as one caller where memory is shared out: a key, a person, or the address of a caller without one. */
export function callerName(c: Context, proxies: Proxies): string {
  const caller: Caller | undefined = c.get("caller")
  if (caller?.person !== undefined) return `person:${identityOf(caller)}`
  if (caller !== undefined && caller.api_key_id !== ANONYMOUS_KEY_ID) return `key:${caller.api_key_id}`
  return `address:${callerAddress(c, proxies)?.network ?? ""}`
}

/** The origin that the server seals: HMACs of address and user agent, because a bare hash of an address can be guessed. */
export function originOf(
  secret: KeyObject,
  caller: KeyCaller,
  address: string | undefined,
  userAgent: string | undefined,
): Origin {
  const mac = (name: string, value: string): string =>
    createHmac("sha256", secret).update(`${name}\n${value}`).digest("hex")
  return {
    source_ip_hash: mac("source_ip", address ?? ""),
    user_agent_hash: mac("user_agent", userAgent ?? ""),
    authentication: caller.authentication,
  }
}
