/** The refusals that an endpoint can answer, derived from its parameters and access. docs/api.md has the table. */
import { ERROR_CODE_NAMES, ERROR_CODES, type ErrorCode, type ErrorStatus } from "@runseal/core/wire/error-codes"
import {
  type Answer,
  type AnswerHeader,
  type Endpoint,
  type RefusalStatus,
  refusal,
  refusesUnknown,
} from "../endpoint.ts"

const SECONDS: AnswerHeader = {
  description: "Seconds after which to try again.",
  schema: { type: "integer", minimum: 1 },
  required: true,
}

/** draft-ietf-httpapi-ratelimit-headers. */
export const RATE_LIMIT_HEADERS: Readonly<Record<string, AnswerHeader>> = {
  "RateLimit-Policy": {
    description: "The limit: name, requests, seconds.",
    schema: { type: "string" },
    required: true,
  },
  RateLimit: {
    description: "What is left of it: name, requests, seconds until the next window.",
    schema: { type: "string" },
    required: true,
  },
}

const codesOf = (status: ErrorStatus): readonly ErrorCode[] =>
  ERROR_CODE_NAMES.filter(code => ERROR_CODES[code].status === status)

const refused = (
  status: RefusalStatus,
  name: string,
  description: string,
  headers?: Answer["headers"],
): { readonly name: string; readonly answer: Answer } => ({
  name,
  answer: refusal(description, codesOf(status), headers),
})

const CHALLENGE: AnswerHeader = {
  description: "What is asked for: a key or the token of an end user, by the header that it is sent in, or a permit.",
  schema: { type: "string" },
  required: true,
}

const optional = (header: AnswerHeader): AnswerHeader => ({ ...header, required: false })

/** Every refusal by its status: `components.responses` of the document. */
export const REFUSALS: Readonly<Record<RefusalStatus, { readonly name: string; readonly answer: Answer }>> = {
  400: refused(400, "BadRequest", "The request is invalid: the sentence names the field, never its value."),
  401: refused(
    401,
    "Unauthorized",
    "The deployment is locked and the key is absent, unknown or revoked; or the permit is not valid; or the token of the end user is not accepted, or is required and absent.",
    {
      "WWW-Authenticate": CHALLENGE,
    },
  ),
  403: refused(
    403,
    "Forbidden",
    "An admin key is needed, or the CSRF token of the session; or a person has another role; or the deployment opens no permits.",
  ),
  404: refused(404, "NotFound", "There is no such thing, or it belongs to another key."),
  406: refused(406, "NotAcceptable", "Accept-Encoding allows no form in which the answer is sent."),
  409: refused(
    409,
    "KeyInUse",
    "The idempotency key was used with another body or for another end user; with Retry-After, its first request is still under way. Of an action of an administrator: it was done before under this idempotency key. Of a claim: the runs were given to another key, or there are none. Of a permit: it is not open any more, or was redeemed before.",
    { "Retry-After": optional(SECONDS) },
  ),
  408: refused(408, "TooSlow", "Nothing of the body arrived for some time; the connection is closed."),
  413: refused(413, "TooLarge", "The body is too large."),
  429: refused(
    429,
    "TooManyRequests",
    "A limit is reached: the rate limit, a trial key's runs in 30 days, or a key's open permits.",
    {
      "Retry-After": SECONDS,
      ...Object.fromEntries(Object.entries(RATE_LIMIT_HEADERS).map(([name, header]) => [name, optional(header)])),
    },
  ),
  500: refused(500, "Fault", "A fault of the server; the operator finds its cause by the request id."),
  503: refused(
    503,
    "Unavailable",
    "The request cannot be served now; nothing was acknowledged. The code says when it is not known whether it took effect.",
    { "Retry-After": SECONDS },
  ),
}

/** Statuses of an operation's refusals, ascending, without those it describes itself. */
export function refusalsOf(operation: Endpoint): readonly RefusalStatus[] {
  const { access, persons, method, limit, idempotent, once, body, answers, unfailing, refusals = [] } = operation
  // The key is read from the database, which can fail.
  const authenticated: readonly RefusalStatus[] = access === "public" ? [] : [401, 503]
  const found = new Set<RefusalStatus>([
    ...authenticated,
    // With a session cookie a request that changes something needs its CSRF token, and that of a person reads no runs of its own.
    ...(access === "public" || (persons !== undefined && method === "get") ? [] : ([403] as const)),
    ...(limit === undefined && access !== "reader" ? [] : ([429] as const)),
    ...(idempotent === undefined && once === undefined ? [] : ([400, 409] as const)),
    ...(refusesUnknown(operation) ? ([400] as const) : []),
    ...(body === undefined ? [] : ([400, 408, 413] as const)),
    ...refusals,
    ...(unfailing === true ? [] : ([500] as const)),
  ])
  return [...found].filter(status => answers[status] === undefined).sort((a, b) => a - b)
}
