/** Rate limits: which requests are counted together, the limits, and the header fields about them. docs/api.md, "Limits". */
import { createHmac, type KeyObject } from "node:crypto"
import type { LimitName } from "@runseal/api/endpoint"
import type { Context, MiddlewareHandler } from "hono"
import { HttpError } from "../../http-error.ts"
import type { Config } from "../../options/config.ts"
import type { Database } from "../../store/driver/database.ts"
import { callerAddress, type IpAddress, type Proxies } from "../caller-address.ts"
import { ANONYMOUS, ANONYMOUS_KEY_ID, type Caller, callerOf, identityOf } from "./caller.ts"
import {
  type Counted,
  isShared,
  memoryCounter,
  type RequestCounter,
  storeCounter,
  WINDOW_MS,
} from "./request-counter.ts"

/** Sessions that one address may try to open in a minute. A key cannot be guessed; this bounds the work of trying. */
const SESSIONS_A_MINUTE = 20

/** What is left of a limit after a request. */
type Allowance = {
  readonly admitted: boolean
  readonly name: LimitName
  /** Requests a window. */
  readonly limit: number
  /** Requests left in this window. */
  readonly remaining: number
  /** Until the window ends; at least 1. */
  readonly seconds: number
}

export type RateLimits = {
  /**
   * Counts a request and decides whether it is admitted. A refused one does not make its window longer.
   * @param address of the caller, by which callers without a key are counted
   * @param known its number, where authentication has counted it already
   * @throws StoreError when it could not be counted: it is refused then, never let through
   */
  readonly admit: (
    name: LimitName,
    caller: Caller,
    address: IpAddress | undefined,
    known?: Counted,
  ) => Promise<Allowance>
  /** Resolves when the requests that wait are counted. */
  readonly close: () => Promise<void>
}

type RateLimitParts = {
  readonly db: Database
  readonly config: Pick<Config, "rateLimit" | "attestRateLimit" | "permitRateLimit" | "anonymousRateLimit">
  /** The deployment's origin secret: addresses are counted under their HMACs. */
  readonly secret: KeyObject
  readonly nowMs: () => number
  /** Called for each request that is refused. */
  readonly reportRefused: (name: LimitName) => void
}

/** Counts in the database where several processes may share it, in memory where there is only one. */
const openCounter = (db: Database, nowMs: () => number): RequestCounter =>
  isShared(db) ? storeCounter(db, nowMs) : memoryCounter(nowMs)

export function openRateLimits({ db, config, secret, nowMs, reportRefused }: RateLimitParts): RateLimits {
  const counter = openCounter(db, nowMs)
  const limitOf = (name: LimitName, caller: Caller): number => {
    if (name === "attest") return config.attestRateLimit
    if (name === "permits") return config.permitRateLimit
    if (name === "sessions") return SESSIONS_A_MINUTE
    if (caller.person !== undefined) return config.rateLimit
    return caller.api_key_id === ANONYMOUS_KEY_ID ? config.anonymousRateLimit : (caller.rate_limit ?? config.rateLimit)
  }
  return {
    admit: async (name, caller, address, known) => {
      const counted = known ?? (await counter.count(`${whoOf(caller, address, secret)}:${name}`))
      const allowance = allowanceOf(name, limitOf(name, caller), counted, nowMs())
      if (!allowance.admitted) reportRefused(name)
      return allowance
    },
    close: counter.close,
  }
}

/** Hex digits of an HMAC in a bucket's name: 128 bits, so that no two networks and no two persons share one. */
const MAC_DIGITS = 32

function whoOf(caller: Caller, address: IpAddress | undefined, secret: KeyObject): string {
  const mac = (text: string): string => createHmac("sha256", secret).update(text).digest("hex").slice(0, MAC_DIGITS)
  if (caller.person !== undefined) return `person:${mac(`rate_limit_person\n${identityOf(caller)}`)}`
  if (caller.api_key_id !== ANONYMOUS_KEY_ID) return `key:${caller.api_key_id}`
  return `address:${mac(`rate_limit\n${address?.network ?? ""}`)}`
}

function allowanceOf(name: LimitName, limit: number, { place, window_start }: Counted, now: number): Allowance {
  const seconds = Math.max(1, Math.ceil((window_start + WINDOW_MS - now) / 1000))
  return { admitted: place <= limit, name, limit, remaining: Math.max(0, limit - place), seconds }
}

/** The fields of draft-ietf-httpapi-ratelimit-headers. */
const rateLimitFields = ({ name, limit, remaining, seconds }: Allowance): Record<string, string> => ({
  "RateLimit-Policy": `"${name}";q=${limit};w=${WINDOW_MS / 1000}`,
  RateLimit: `"${name}";r=${remaining};t=${seconds}`,
})

function tooManyRequests(allowance: Allowance): HttpError {
  const { limit, seconds } = allowance
  const sentence = `Too many requests: at most ${limit} a minute are answered; try again in ${seconds} s.`
  return new HttpError("rate_limited", sentence, { "Retry-After": `${seconds}`, ...rateLimitFields(allowance) })
}

type Limiting = Proxies & { readonly rateLimits: RateLimits }

/** `/admin/*` has no rate limit but for auditors, who are strangers to the deployment: they share that of the other endpoints. */
export function limitAuditors(parts: Limiting): MiddlewareHandler {
  const limit = limited(parts, "shared", callerOf)
  return (c, next) => (callerOf(c).scope === "auditor" ? limit(c, next) : next())
}

/** Registered after authentication: a request without a valid key is not counted. */
export const limitRequests = (parts: Limiting, name: LimitName): MiddlewareHandler => limited(parts, name, callerOf)

/** For an endpoint without keys: counts requests by the caller's address. */
export const limitByAddress = (parts: Limiting, name: LimitName): MiddlewareHandler =>
  limited(parts, name, () => ANONYMOUS)

function limited(parts: Limiting, name: LimitName, whose: (c: Context) => Caller): MiddlewareHandler {
  return async (c, next) => {
    const address = callerAddress(c, parts)
    const allowance = await parts.rateLimits.admit(name, whose(c), address, c.get("counted"))
    if (!allowance.admitted) throw tooManyRequests(allowance)
    await next()
    for (const [field, value] of Object.entries(rateLimitFields(allowance))) c.res.headers.set(field, value)
  }
}
