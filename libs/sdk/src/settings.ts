/** Options of the client and of single calls, with their bounds and defaults. Checked once, when they are passed. */
import { DEFAULT_MAX_BYTES } from "@runseal/canonical"
import { type Breaker, breakerOf } from "./breaker.ts"
import { InvalidArgumentError } from "./client-errors.ts"
import { environmentVariable, PLATFORM, type Platform } from "./platform.ts"

/** Most retries after a first attempt; also the default. */
const RETRIES_MAX = 3
/** Milliseconds: default timeout of one exchange, default deadline of a call with its retries, and the largest value of both. */
export const TIMEOUT_DEFAULT_MS = 60_000
export const DEADLINE_DEFAULT_MS = 120_000
const DEADLINE_MAX_MS = 600_000
/** Bytes of one answer after content decoding; a bundle of a request at the service's bound of 1 MiB stays far below. */
const RESPONSE_DEFAULT_BYTES = 16_777_216

/** A header value that every platform sends unchanged. For any other, the platform's own error would quote the key. */
const API_KEY = /^[\x21-\x7e]{1,512}$/

/** Of RUNSEAL_TIMEOUT. */
const SECONDS = /^\d{1,3}(?:\.\d{1,3})?$/

/** Bounds of one call; each overrides the client's. */
export type CallOptions = {
  /** Aborts the call. A run may have been recorded all the same. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for one attempt, from sending to the last byte of the answer. */
  readonly timeoutMs?: number | undefined
  /** Milliseconds for the call with all its retries and waits. */
  readonly deadlineMs?: number | undefined
}

/**
 * The access token of the person for whom the agent acts, a JWT, or what gives it for each attempt: tokens expire. Undefined: no person is named.
 * It proves that the token was presented, not that the person asked for the act.
 */
export type EndUserToken = string | (() => string | undefined | Promise<string | undefined>)
/** Options of a call that has something decided. */
export type EndUserOption = {
  /** Sent as `X-End-User-Token`. Absent: that of the client. */
  readonly endUserToken?: EndUserToken | undefined
}

/** Options of a call that creates something. Under an idempotency key it creates it once. */
export type OnceOptions = CallOptions & {
  /**
   * 1 to 255 printable ASCII characters, a new one for each thing to create. The call is then retried like a read, and may be
   * sent again later with the same arguments and key: the service gives the first answer again.
   */
  readonly idempotencyKey?: string | undefined
}

/** Options of a call that changes something of the deployment. Under an idempotency key it is done once. */
export type ActionOptions = CallOptions & {
  /**
   * 1 to 255 printable ASCII characters, a new one for each action. The call is then retried, and may be sent again at any later time: a
   * ConflictError with the code `already_done` says that it was done; what would change nothing gets the same answer. No other is repeated: a
   * secret of the first is lost if that was.
   */
  readonly idempotencyKey?: string | undefined
}

export type ClientOptions = Partial<{ readonly [Name in keyof Platform]: Platform[Name] | undefined }> &
  Omit<CallOptions, "signal"> & {
    /**
     * Address of the service, `https://…` or `http://…`, with a path when a proxy serves it below one. Absent: the variable
     * `RUNSEAL_URL` of the process environment.
     */
    readonly baseUrl?: string | undefined
    /**
     * Sent as `X-Service-Key`, but not to public endpoints. Absent: the variable `RUNSEAL_API_KEY`, unless `RUNSEAL_URL` names another
     * address than `baseUrl`. Without a key the caller is anonymous, which only open mode allows.
     */
    readonly apiKey?: string | undefined
    /**
     * Sent as `X-End-User-Token` with `execute`, `verifyDeterminism` and `permits.open`, and with no other call. A client of several persons is given a
     * function, or the token with each call.
     */
    readonly endUserToken?: EndUserToken | undefined
    /** Creates an idempotency key for each `execute`, `attest` and `permits.open` without one, such as `() => crypto.randomUUID()`. */
    readonly newIdempotencyKey?: (() => string) | undefined
    /**
     * Milliseconds that a caller waits for the decision on an act with the option `fail`. Absent: the variable `RUNSEAL_TIMEOUT`, in
     * seconds, or else 2 s for `open` and 10 s for `closed`.
     */
    readonly decisionMs?: number | undefined
    /** Retries of a call that is safe to retry, 0 to 3. */
    readonly retries?: number | undefined
    /** Bytes of one answer. */
    readonly maxResponseBytes?: number | undefined
  }

export type Limits = { readonly timeoutMs: number; readonly deadlineMs: number }
export type Settings = Platform &
  Limits & {
    /** Without a final slash. */
    readonly baseUrl: string
    readonly apiKey: string | undefined
    readonly endUserToken: EndUserToken | undefined
    readonly newIdempotencyKey: (() => string) | undefined
    readonly retries: number
    readonly maxResponseBytes: number
    /** Of the service. */
    readonly breaker: Breaker
  }

/** @throws InvalidArgumentError */
export function readSettings(options: ClientOptions): Settings {
  const { retries, maxResponseBytes } = options
  const defaults = { timeoutMs: TIMEOUT_DEFAULT_MS, deadlineMs: DEADLINE_DEFAULT_MS }
  return {
    fetch: options.fetch ?? PLATFORM.fetch,
    now: options.now ?? PLATFORM.now,
    sleep: options.sleep ?? PLATFORM.sleep,
    random: options.random ?? PLATFORM.random,
    ...readAddressAndKey(options),
    endUserToken: options.endUserToken,
    newIdempotencyKey: options.newIdempotencyKey,
    ...readLimits(options, defaults),
    retries: integerWithin("retries", retries ?? RETRIES_MAX, 0, RETRIES_MAX),
    maxResponseBytes: integerWithin(
      "maxResponseBytes",
      maxResponseBytes ?? RESPONSE_DEFAULT_BYTES,
      1,
      DEFAULT_MAX_BYTES,
    ),
    breaker: createBreaker(options),
  }
}

/** The breaker of a service, for a program that asks it without a client. @throws InvalidArgumentError */
export function createBreaker(options: ClientOptions = {}): Breaker {
  const { fetch = PLATFORM.fetch, now = PLATFORM.now, decisionMs } = options
  return breakerOf({ fetch, now }, readAddressAndKey(options).baseUrl, readDecisionMs(decisionMs))
}

/** What the caller passed, or else the environment. @throws InvalidArgumentError */
function readDecisionMs(passed: number | undefined): number | undefined {
  if (passed !== undefined) return integerWithin("decisionMs", passed, 1, DEADLINE_MAX_MS)
  const seconds = environmentVariable("RUNSEAL_TIMEOUT")
  if (seconds === undefined) return undefined
  const ms = SECONDS.test(seconds) ? Math.round(Number(seconds) * 1000) : 0
  if (ms < 1 || ms > DEADLINE_MAX_MS)
    throw new InvalidArgumentError(`RUNSEAL_TIMEOUT must be seconds from 0.001 to ${DEADLINE_MAX_MS / 1000}.`)
  return ms
}

/** @throws InvalidArgumentError */
export const readLimits = (options: CallOptions, defaults: Limits): Limits => ({
  timeoutMs: integerWithin("timeoutMs", options.timeoutMs ?? defaults.timeoutMs, 1, DEADLINE_MAX_MS),
  deadlineMs: integerWithin("deadlineMs", options.deadlineMs ?? defaults.deadlineMs, 1, DEADLINE_MAX_MS),
})

/** @throws InvalidArgumentError */
export function integerWithin(name: string, value: number, min: number, max: number): number {
  if (!Number.isSafeInteger(value) || value < min || value > max)
    throw new InvalidArgumentError(`${name} must be an integer from ${min} to ${max}.`)
  return value
}

/** What the caller passed, or else the environment. The environment's key is for the environment's address. */
function readAddressAndKey({ baseUrl, apiKey }: ClientOptions): Pick<Settings, "baseUrl" | "apiKey"> {
  const [url, key] = [environmentVariable("RUNSEAL_URL"), environmentVariable("RUNSEAL_API_KEY")]
  if (baseUrl === undefined && url === undefined)
    throw new InvalidArgumentError("baseUrl is missing: pass it, or set RUNSEAL_URL.")
  const address = baseUrl === undefined ? readBaseUrl("RUNSEAL_URL", url ?? "") : readBaseUrl("baseUrl", baseUrl)
  if (apiKey !== undefined) return { baseUrl: address, apiKey: readKey("apiKey", apiKey) }
  const isItsKey = url === undefined || baseUrl === undefined || readBaseUrl("RUNSEAL_URL", url) === address
  return { baseUrl: address, apiKey: key !== undefined && isItsKey ? readKey("RUNSEAL_API_KEY", key) : undefined }
}

function readKey(name: string, key: string): string {
  if (API_KEY.test(key)) return key
  throw new InvalidArgumentError(`${name} must be 1 to 512 visible ASCII characters.`)
}

function readBaseUrl(name: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError(`${name} must be a complete http or https address.`)
  // The client never sends a password of the address, and error messages would quote it.
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new InvalidArgumentError(`${name} must have no user name, password, query or fragment.`)
  return url.href.replace(/\/+$/, "")
}
