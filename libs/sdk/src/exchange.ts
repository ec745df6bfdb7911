/** One HTTP request and its whole answer, with bounded size. */
import { END_USER_HEADER, END_USER_TOKEN_MAX_LENGTH, END_USER_TOKEN_PATTERN } from "@runseal/core/wire/end-user-token"
import { IDEMPOTENCY_KEY_HEADER, idempotencyKeyField } from "@runseal/core/wire/idempotency-key"
import { EndUserTokenError, InvalidArgumentError, NetworkError, ProtocolError } from "./client-errors.ts"
import { parseRetryAfter } from "./retry.ts"
import type { EndUserToken, Settings } from "./settings.ts"

/** Initial buffer; most answers fit. */
const FIRST_BUFFER_BYTES = 65_536

/** A request to the service. */
export type Call = {
  /** Path with its query, percent-encoded; begins with a slash. */
  readonly path: string
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** JSON text. */
  readonly body?: string
  /** Whether a retry is safe. */
  readonly repeatable: boolean
  /** Identifies what the call creates, so that a retry does not create it twice. */
  readonly idempotencyKey?: string
  /** Whose act it is. */
  readonly endUserToken?: EndUserToken
  /** A public endpoint: the key is not sent. */
  readonly public?: true
  /** Somebody waits for the decision: an answer that names a time to retry is given to the caller at once. */
  readonly awaited?: true
}

/** A complete answer, not yet parsed. */
export type Reply = {
  readonly status: number
  readonly bytes: Uint8Array
  readonly retryAfterSeconds: number | undefined
  /** Of the header, for an answer whose body has none. */
  readonly requestId: string | undefined
}

/** Method and address of a call, as errors show them: without the token of a publication, which gives access to a record. */
export const shownCall = ({ baseUrl }: Settings, call: Call): { readonly method: string; readonly url: string } => ({
  method: call.method,
  url: baseUrl + call.path.replace(/^(\/public\/runs\/)[0-9a-f]+/, "$1{token}"),
})

/** @throws NetworkError, ProtocolError for a redirect or an answer that is too large */
export async function exchange(settings: Settings, call: Call, signal: AbortSignal): Promise<Reply> {
  return await readReply(await openAnswer(settings, call, signal), settings, signal)
}

/**
 * An answer whose head has arrived; `signal` cancels its body.
 * @throws NetworkError, ProtocolError for a redirect, InvalidArgumentError for a token that no request can carry, EndUserTokenError where the function throws that gives it
 */
export async function openAnswer(settings: Settings, call: Call, signal: AbortSignal): Promise<Response> {
  const init = requestInit(settings, call, signal, await endUserTokenOf(call))
  return await reached(async () => {
    const response = await settings.fetch(settings.baseUrl + call.path, init)
    await refuseRedirect(response)
    return response
  })
}

const TOKEN = new RegExp(END_USER_TOKEN_PATTERN)
/** Calls that wait for the function which gives their token. */
const waitingForToken = new WeakSet<Call>()
/** Whether a call that ended had not got its token yet: what took too long was the caller's function, and not the service. */
export const waitsForToken = (call: Call): boolean => waitingForToken.has(call)

async function endUserTokenOf(call: Call): Promise<string | undefined> {
  const { endUserToken } = call
  const token = typeof endUserToken === "function" ? await givenToken(call, endUserToken) : endUserToken
  if (token !== undefined && (token.length > END_USER_TOKEN_MAX_LENGTH || !TOKEN.test(token)))
    throw new InvalidArgumentError(`endUserToken must be a JWT of at most ${END_USER_TOKEN_MAX_LENGTH} characters.`)
  return token
}

async function givenToken(call: Call, give: Exclude<EndUserToken, string>): Promise<string | undefined> {
  waitingForToken.add(call)
  try {
    return await give()
  } catch (error) {
    throw new EndUserTokenError(error)
  } finally {
    waitingForToken.delete(call)
  }
}

/** Reads the body of an answer. @throws NetworkError, ProtocolError for one that is too large */
export const readReply = (response: Response, settings: Settings, signal: AbortSignal): Promise<Reply> =>
  reached(async () => {
    const bytes = await readBody(response, settings.maxResponseBytes, signal)
    const retryAfterSeconds = parseRetryAfter(response.headers.get("retry-after"), settings.now())
    const requestId = response.headers.get("x-request-id") ?? undefined
    return { status: response.status, bytes, retryAfterSeconds, requestId }
  })

async function reached<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    throw new NetworkError("The service could not be reached, or its answer ended early.", { cause: error })
  }
}

const requestInit = (
  { apiKey }: Settings,
  call: Call,
  signal: AbortSignal,
  endUserToken: string | undefined,
): RequestInit => ({
  method: call.method,
  headers: {
    accept: "application/json",
    ...(call.body === undefined ? {} : { "content-type": "application/json" }),
    ...(call.idempotencyKey === undefined
      ? {}
      : { [IDEMPOTENCY_KEY_HEADER]: idempotencyKeyField(call.idempotencyKey) }),
    ...(apiKey === undefined || call.public ? {} : { "x-service-key": apiKey }),
    ...(endUserToken === undefined ? {} : { [END_USER_HEADER]: endUserToken }),
  },
  ...(call.body === undefined ? {} : { body: call.body }),
  // A redirect is never followed, so that the key goes nowhere else. "manual" rather than "error" gives it an error of its own, which is not retried.
  redirect: "manual",
  credentials: "omit",
  signal,
})

async function refuseRedirect(response: Response): Promise<void> {
  const redirect = response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)
  if (!redirect) return
  await response.body?.cancel()
  throw new ProtocolError("it redirects, which is not followed; give baseUrl the final address")
}

async function readBody(response: Response, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  if (response.body === null) return new Uint8Array()
  const reader = response.body.getReader()
  const cancel = (): void => {
    reader.cancel().catch(() => undefined)
  }
  signal.addEventListener("abort", cancel, { once: true })
  try {
    return await readAll(reader, maxBytes)
  } finally {
    signal.removeEventListener("abort", cancel)
    cancel()
  }
}

/** One growing buffer, so that an answer in many small pieces takes no more memory than one in one piece. */
async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  let bytes = new Uint8Array(Math.min(FIRST_BUFFER_BYTES, maxBytes))
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return bytes.subarray(0, size)
    const needed = size + value.length
    if (needed > maxBytes) throw new ProtocolError(`it is larger than ${maxBytes} bytes`)
    if (needed > bytes.length) {
      const larger = new Uint8Array(Math.min(2 * needed, maxBytes))
      larger.set(bytes.subarray(0, size))
      bytes = larger
    }
    bytes.set(value, size)
    size = needed
  }
}
