/**
 * The console as a client of the public API: it sends ordinary requests with the cookie of the visitor, so that a page shows what the API
 * gives to this visitor, and nothing else.
 */

import { IDEMPOTENCY_KEY_HEADER } from "@runseal/core/wire/idempotency-key"
import { errorAnswerSchema } from "@runseal/core/wire/service-answers"
import { CSRF_HEADER, type SessionAnswer } from "@runseal/core/wire/session-requests"
import { UNATTENDED_HEADER } from "@runseal/core/wire/session-use"
import type { Context } from "hono"
import * as v from "valibot"

/** How the console reaches the API. @param env what the server knows of the connection, such as the address of the visitor */
export type ConsoleFetch = (request: Request, env?: unknown) => Response | Promise<Response>

/** Why a request was refused. */
export type Refusal = {
  readonly status: number
  readonly code: string
  /** One sentence of the API. */
  readonly error: string
  /** Seconds after which to try again. */
  readonly retryAfter?: string
}

/** A page throws it where it cannot be shown without an answer; the console then shows why. */
export class ApiRefusal extends Error {
  readonly refusal: Refusal
  constructor(refusal: Refusal) {
    super(refusal.error)
    this.refusal = refusal
  }
}

/** Header fields of the visitor's request that the API judges by. The key header is never among them. */
const FORWARDED = [
  "Cookie",
  "Origin",
  "X-Forwarded-For",
  "X-Forwarded-Proto",
  "Forwarded",
  "User-Agent",
  UNATTENDED_HEADER,
] as const

export type Method = "POST" | "DELETE" | "PATCH"

export type Api = {
  /** The answer itself. Never rejects for a refusal. */
  readonly send: (method: "GET" | Method, path: string, body?: object) => Promise<Response>
  /** What such an answer says; a refusal is a value. */
  readonly read: <Output>(response: Response, schema: v.GenericSchema<unknown, Output>) => Promise<Output | Refusal>
  /** What an endpoint answers. @throws ApiRefusal */
  readonly get: <Output>(path: string, schema: v.GenericSchema<unknown, Output>) => Promise<Output>
  /** The same; a refusal is a value. */
  readonly ask: <Output>(path: string, schema: v.GenericSchema<unknown, Output>) => Promise<Output | Refusal>
  /** Changes something. A refusal is a value, which a form shows. */
  readonly change: <Output>(
    method: Method,
    path: string,
    schema: v.GenericSchema<unknown, Output>,
    body?: object,
  ) => Promise<Output | Refusal>
}

export const isRefusal = (value: unknown): value is Refusal =>
  typeof value === "object" && value !== null && "status" in value && "code" in value && "error" in value

/** What goes with every change: the CSRF token of the session, and the token of the form, which the change uses up. */
type Tokens = Pick<SessionAnswer, "csrf_token"> & { readonly once?: string }

/** @param ofService sends a request */
export function apiOf(c: Context, ofService: ConsoleFetch, tokens: Tokens = {}): Api {
  const headersOf = (method: "GET" | Method): Headers => {
    const headers = new Headers({ Accept: "application/json" })
    for (const name of FORWARDED) {
      const value = c.req.header(name)
      if (value !== undefined) headers.set(name, value)
    }
    if (tokens.csrf_token !== undefined) headers.set(CSRF_HEADER, tokens.csrf_token)
    if (tokens.once !== undefined && method !== "GET") headers.set(IDEMPOTENCY_KEY_HEADER, tokens.once)
    return headers
  }
  const send: Api["send"] = async (method, path, body) => {
    const headers = headersOf(method)
    if (body !== undefined) headers.set("Content-Type", "application/json")
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    return ofService(new Request(new URL(path, c.req.url), init), c.env)
  }
  const read = async <Output>(
    response: Response,
    schema: v.GenericSchema<unknown, Output>,
  ): Promise<Output | Refusal> => {
    const value: unknown = await response.json().catch(() => undefined)
    if (!response.ok) return refusalOf(response, value)
    const parsed = v.safeParse(schema, value)
    return parsed.success ? parsed.output : { status: 502, code: "unreadable", error: UNREADABLE }
  }
  const ask: Api["ask"] = async (path, schema) => read(await send("GET", path), schema)
  return {
    send,
    read,
    ask,
    get: async (path, schema) => {
      const answer = await ask(path, schema)
      if (isRefusal(answer)) throw new ApiRefusal(answer)
      return answer
    },
    change: async (method, path, schema, body) => read(await send(method, path, body), schema),
  }
}

const UNREADABLE = "The service answered in a form that this console does not know."

function refusalOf({ status, headers }: Response, value: unknown): Refusal {
  const parsed = v.safeParse(errorAnswerSchema, value)
  const retryAfter = headers.get("Retry-After")
  return {
    status,
    ...(parsed.success
      ? { code: parsed.output.code, error: parsed.output.error }
      : { code: "unreadable", error: UNREADABLE }),
    ...(retryAfter === null ? {} : { retryAfter }),
  }
}
