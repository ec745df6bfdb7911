/** Requests to the service, as its caller would send them: with the caller's key, and once for all under an idempotency key. */
import { canonicalize, type JsonObject, readStrictJson } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { IDEMPOTENCY_KEY_HEADER } from "@runseal/core/wire/idempotency-key"
import type { Context } from "hono"

/** The service: answers a request as if it came over the socket of `env`. */
export type Fetch = (request: Request, env?: unknown) => Response | Promise<Response>

/** An answer of the service. */
export type Reply = { readonly status: number; readonly body: JsonObject; readonly response: Response }

/** The service gave no answer in time. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer"
}

/** Headers of the hook's request that say who sends it and whose request it is. */
const PASSED_ON = ["x-service-key", "x-forwarded-for", "forwarded", "user-agent", "x-request-id"]
/** The header that says for whom the call is made. */
const END_USER = "x-end-user-token"
/** How often a request is sent while the first one under its key is under way, or the service cannot answer for the moment. */
const ATTEMPTS = 3
const WAIT_MS = 250

export type ServiceCalls = {
  readonly send: (path: string, key: string, body: JsonObject) => Promise<Reply>
  /** Sends a request once, without an idempotency key. */
  readonly post: (path: string, body?: JsonObject) => Promise<Reply>
  readonly read: (path: string) => Promise<Reply>
}

/**
 * @param deadlineMs for all requests together: shorter than an agent waits for its hook
 * @param withEndUser whether the token of an end user is passed on
 */
export function serviceCalls(service: Fetch, c: Context, deadlineMs: number, withEndUser: boolean): ServiceCalls {
  const until = performance.now() + deadlineMs
  const passed = [...PASSED_ON, ...(withEndUser ? [END_USER] : [])].flatMap(name => {
    const value = name === "x-request-id" ? c.get("requestId") : c.req.header(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const exchange = async (path: string, init: RequestInit): Promise<Reply> => {
    const request = new Request(new URL(path, c.req.url), init)
    const response = await within(until - performance.now(), service(request, c.env))
    const answer = readStrictJson(await response.clone().text())
    return { status: response.status, body: isObject(answer) ? answer : {}, response }
  }
  return {
    send: async (path, key, body) => {
      const own = { "Content-Type": "application/json", [IDEMPOTENCY_KEY_HEADER]: key }
      const init = { method: "POST", headers: { ...Object.fromEntries(passed), ...own }, body: canonicalize(body) }
      for (let attempt = 1; ; attempt += 1) {
        const reply = await exchange(path, init)
        if (attempt === ATTEMPTS || !isPassing(reply) || performance.now() + attempt * WAIT_MS >= until) return reply
        await new Promise(resolve => setTimeout(resolve, attempt * WAIT_MS))
      }
    },
    post: (path, body) => {
      const own = body === undefined ? {} : { "Content-Type": "application/json" }
      const sent = body === undefined ? {} : { body: canonicalize(body) }
      return exchange(path, { method: "POST", headers: { ...Object.fromEntries(passed), ...own }, ...sent })
    },
    read: path => exchange(path, { headers: Object.fromEntries(passed) }),
  }
}

/** A refusal that the same request may not meet a moment later. */
const isPassing = ({ status, body }: Reply): boolean => status === 503 || body.code === "request_in_progress"

async function within<T>(ms: number, work: T | Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswer("The service did not answer in time.")), Math.max(0, ms))
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
