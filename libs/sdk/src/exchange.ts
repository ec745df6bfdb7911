/** One request and its whole answer, within bounds. */
import { IDEMPOTENCY_KEY_HEADER, idempotencyKeyField } from "@runseal/core/wire/idempotency-key"
import { NetworkError, ProtocolError } from "./client-errors.ts"
import { parseRetryAfter } from "./retry.ts"
import type { Settings } from "./settings.ts"

/** Room for most answers. */
const FIRST_BUFFER_BYTES = 65_536

/** What is asked of the service. */
export type Call = {
  /** Beginning with a slash, encoded, with its query. */
  readonly path: string
  /** Without one, GET, or POST when there is a body. */
  readonly method?: "POST" | "DELETE"
  /** JSON text. */
  readonly body?: string
  /** Whether doing it twice is as good as once. */
  readonly repeatable: boolean
  /** Names what the call makes, so that it is made once. */
  readonly idempotencyKey?: string
  /** Public endpoints are not told the key. */
  readonly public?: true
}

/** What came back, complete and unread. */
export type Reply = {
  readonly status: number
  readonly bytes: Uint8Array
  readonly retryAfterSeconds: number | undefined
}

/** @throws NetworkError, ProtocolError for a redirect or an answer that is too large */
export async function exchange(settings: Settings, call: Call, signal: AbortSignal): Promise<Reply> {
  return await readReply(await openAnswer(settings, call, signal), settings, signal)
}

/** An answer of which only the head has come; `signal` ends it. @throws NetworkError, ProtocolError for a redirect */
export const openAnswer = (settings: Settings, call: Call, signal: AbortSignal): Promise<Response> =>
  reached(async () => {
    const response = await settings.fetch(settings.baseUrl + call.path, requestInit(settings, call, signal))
    await refuseRedirect(response)
    return response
  })

/** Reads an answer to its end. @throws NetworkError, ProtocolError for one that is too large */
export const readReply = (response: Response, settings: Settings, signal: AbortSignal): Promise<Reply> =>
  reached(async () => {
    const bytes = await readBody(response, settings.maxResponseBytes, signal)
    const retryAfterSeconds = parseRetryAfter(response.headers.get("retry-after"), settings.now())
    return { status: response.status, bytes, retryAfterSeconds }
  })

async function reached<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    throw new NetworkError("The service could not be reached, or its answer broke off.", { cause: error })
  }
}

const requestInit = ({ apiKey }: Settings, call: Call, signal: AbortSignal): RequestInit => ({
  method: call.method ?? (call.body === undefined ? "GET" : "POST"),
  headers: {
    accept: "application/json",
    ...(call.body === undefined ? {} : { "content-type": "application/json" }),
    ...(call.idempotencyKey === undefined
      ? {}
      : { [IDEMPOTENCY_KEY_HEADER]: idempotencyKeyField(call.idempotencyKey) }),
    ...(apiKey === undefined || call.public ? {} : { "x-service-key": apiKey }),
  },
  ...(call.body === undefined ? {} : { body: call.body }),
  // Never followed, so that the key goes nowhere else; "manual" rather than "error" lets us say so and not repeat the call.
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

/** One buffer that grows, so that an answer in tiny pieces takes no more room than in one. */
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
