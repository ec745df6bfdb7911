/** The refusals that an endpoint can answer, derived from its parameters and access. docs/api.md has the table. */
import type { ErrorStatus } from "../../http-error.ts"
import { type Answer, type AnswerHeader, type Operation, refusal } from "./operation.ts"

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

/** Every refusal by its status: `components.responses` of the document. */
export const REFUSALS: Readonly<Record<ErrorStatus, { readonly name: string; readonly answer: Answer }>> = {
  400: {
    name: "BadRequest",
    answer: refusal("The request is invalid: the sentence names the field, never its value."),
  },
  401: {
    name: "Unauthorized",
    answer: refusal("The deployment is locked and the key is absent, unknown or revoked.", {
      "WWW-Authenticate": {
        description: "The header that a key is sent in.",
        schema: { type: "string" },
        required: true,
      },
    }),
  },
  403: { name: "Forbidden", answer: refusal("An admin key is needed.") },
  404: { name: "NotFound", answer: refusal("There is no such thing, or it belongs to another key.") },
  406: { name: "NotAcceptable", answer: refusal("Accept-Encoding leaves neither plain bytes nor gzip.") },
  409: {
    name: "KeyInUse",
    answer: refusal(
      "The idempotency key was used with another body; with Retry-After, its first request is still under way.",
      { "Retry-After": { ...SECONDS, required: false } },
    ),
  },
  413: { name: "TooLarge", answer: refusal("The body is too large.") },
  429: {
    name: "TooManyRequests",
    answer: refusal("A limit is reached: the rate limit, or a trial key's runs in 30 days.", {
      "Retry-After": SECONDS,
      ...Object.fromEntries(
        Object.entries(RATE_LIMIT_HEADERS).map(([name, header]) => [name, { ...header, required: false }]),
      ),
    }),
  },
  500: { name: "Fault", answer: refusal("A fault of the server; the sentence names a request id for the operator.") },
  503: {
    name: "Unavailable",
    answer: refusal(
      "Database or log cannot serve now; nothing was acknowledged. The error says so when it is not known whether the request took effect.",
      { "Retry-After": SECONDS },
    ),
  },
}

/** Statuses of an operation's refusals, ascending, without those it describes itself. */
export function refusalsOf(operation: Operation): readonly ErrorStatus[] {
  const { access, limit, idempotent, body, answers, unfailing, refusals = [] } = operation
  // The key is read from the database, which can fail.
  const authenticated: readonly ErrorStatus[] = access === "public" ? [] : [401, 503]
  const found = new Set<ErrorStatus>([
    ...authenticated,
    ...(access === "admin" ? ([403] as const) : []),
    ...(limit === undefined ? [] : ([429] as const)),
    ...(idempotent === undefined ? [] : ([400, 409] as const)),
    ...(answers[200]?.content?.type === "text/html" ? [] : ([400] as const)),
    ...(body === undefined ? [] : ([400, 413] as const)),
    ...refusals,
    ...(unfailing === true ? [] : ([500] as const)),
  ])
  return [...found].filter(status => answers[status] === undefined).sort((a, b) => a - b)
}
