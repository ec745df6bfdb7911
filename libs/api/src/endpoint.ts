/** An endpoint as the OpenAPI document describes it: what it takes, and every status it can answer. */
import { ERROR_CODES, type ErrorCode, type ErrorStatus } from "@runseal/core/wire/error-codes"
import { errorAnswer, errorAnswerSchema } from "@runseal/core/wire/service-answers"
import type { BaseIssue, BaseSchema } from "valibot"
import type { QuerySchema } from "./queries.ts"

export type AnySchema = BaseSchema<unknown, unknown, BaseIssue<unknown>>

/**
 * Which callers are answered: all of them; those with a key; admin keys and auditors; or admin keys. In open mode the anonymous caller is
 * each of these.
 */
export type Access = "public" | "key" | "reader" | "admin"

/**
 * `POST /attest` has a limit of its own, and so have hooks and closing and redeeming permits, and opening sessions; all other endpoints that need a key, but for /admin/,
 * share one.
 */
export type LimitName = "shared" | "attest" | "permits" | "sessions"

/** Statuses of the refusals that an endpoint can answer; the others are answered before a request reaches one. */
export type RefusalStatus = Exclude<ErrorStatus, 405 | 417 | 431 | 501>

export type AnswerHeader = { readonly description: string; readonly schema: object; readonly required?: boolean }

/** By name, with what each shows. */
type Examples = Readonly<Record<string, { readonly summary: string; readonly value: object }>>

export type Answer = {
  readonly description: string
  /** Absent for an answer without a body. */
  readonly content?: {
    readonly type: string
    readonly schema?: AnySchema
    readonly binary?: true
    readonly examples?: Examples
  }
  /** A browser gets a page instead. */
  readonly or_page?: true
  readonly headers?: Readonly<Record<string, AnswerHeader>>
}

export type PathParameter = {
  readonly schema: object
  readonly description: string
  readonly example: string | number
  /** Its values may hold slashes, which OpenAPI's templates cannot say. */
  readonly many_segments?: true
}

export type Endpoint = {
  readonly method: "get" | "post" | "patch" | "delete"
  /** With `{name}` for a parameter. */
  readonly path: string
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly access: Access
  /** The limit a request counts against: by key, or by address where the endpoint is public. Readers that are auditors share one. */
  readonly limit?: LimitName
  /** Answered to an auditor's key although it is no read: nothing comes of it. */
  readonly auditors?: true
  /** Takes an idempotency key. */
  readonly idempotent?: true
  /** Takes an idempotency key that is used up: a later request under it is refused. */
  readonly once?: true
  readonly path_parameters?: Readonly<Record<string, PathParameter>>
  readonly query?: QuerySchema<unknown>
  readonly body?: {
    readonly schema: AnySchema
    readonly max_bytes: number
    readonly example?: object
    /** Instead of one: several by name, with what each shows. */
    readonly examples?: Examples
  }
  readonly answers: Readonly<Partial<Record<number, Answer>>>
  /** Answered from memory, by code that cannot fail: no status 500. */
  readonly unfailing?: true
  /** Ignores query parameters that it does not have. */
  readonly any_parameters?: true
  /** Refusals beside those that follow from access, limit, parameters and body. */
  readonly refusals?: readonly RefusalStatus[]
}

/** Whether an endpoint refuses query parameters that it does not have. */
export function refusesUnknown({ answers, any_parameters }: Pick<Endpoint, "answers" | "any_parameters">): boolean {
  return answers[200]?.content?.type !== "text/html" && any_parameters === undefined
}

const JSON_TYPE = "application/json"

/** An answer of one JSON document. */
export const json = (schema: AnySchema, description: string, headers?: Answer["headers"]): Answer => ({
  description,
  content: { type: JSON_TYPE, schema },
  ...(headers === undefined ? {} : { headers }),
})

/** An answer that is not JSON. */
export const bytes = (type: string, description: string, headers?: Answer["headers"]): Answer => ({
  description,
  content: { type, ...(type.startsWith("text/") ? {} : { binary: true }) },
  ...(headers === undefined ? {} : { headers }),
})

/** The envelope of a refused request. @param codes those that it can have: an example of each, in which the sentence is its meaning */
export const refusal = (description: string, codes: readonly ErrorCode[], headers?: Answer["headers"]): Answer => {
  const named = codes.map(code => `\`${code}\``).join(", ")
  const { content, ...answer } = json(errorAnswerSchema, `${description} \`code\`: ${named}.`, headers)
  const examples = codes.map(code => {
    const { meaning } = ERROR_CODES[code]
    return [code, { summary: code, value: errorAnswer(code, meaning, EXAMPLE_REQUEST_ID) }] as const
  })
  return { ...answer, content: { type: JSON_TYPE, ...content, examples: Object.fromEntries(examples) } }
}
const EXAMPLE_REQUEST_ID = "8e03978e-40d5-43dd-bc93-6894a57f9324"

const MAX_ID = Number.MAX_SAFE_INTEGER
export const RUN_ID: PathParameter = {
  schema: { type: "integer", minimum: 1, maximum: MAX_ID },
  description: "Run identifier.",
  example: 1,
}
