/**
 * An endpoint, in two parts: its route, which is what server and clients act by, and its description, which the OpenAPI document has
 * besides. A client takes the routes alone, so that no summary and no example is in its bundle. The bounds of bodies are here, too.
 */
import { ERROR_CODES, type ErrorCode, type ErrorStatus } from "@runseal/core/wire/error-codes"
import { errorAnswer, errorAnswerSchema } from "@runseal/core/wire/service-answers"
import type { BaseIssue, BaseSchema, GenericSchema } from "valibot"
import type { QuerySchema } from "./queries.ts"

// Largest bodies of requests, in bytes. docs/api.md, "Limits".

/** Of most endpoints. */
export const BODY_MAX_BYTES = 1_048_576
/** Of a document that is verified, which holds a request's members and their seals; and of what agents and exporters send. */
export const DOCUMENT_MAX_BYTES = 4_194_304
/** Of a body that holds one token, or little more. */
export const SMALL_BODY_MAX_BYTES = 65_536

export type AnySchema = BaseSchema<unknown, unknown, BaseIssue<unknown>>

/**
 * Which callers are answered: all of them; those with a key; admin keys and auditors; or admin keys. In open mode the anonymous caller is
 * each of these. Of `reader` and `admin`, and where a row has `persons`, a caller
 * may also be a person who signed in, who has no key.
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
  /** An integer with its bounds, or a text, perhaps with a pattern. */
  readonly schema:
    | { readonly type: "integer"; readonly minimum: number; readonly maximum: number }
    | { readonly type: "string"; readonly pattern?: string }
  readonly description: string
  readonly example: string | number
  /** Its values may hold slashes, which OpenAPI's templates cannot say. */
  readonly many_segments?: true
}

/** What server and clients act by. Its identifier is its name in the table. */
export type Route = {
  readonly method: "get" | "post" | "patch" | "delete"
  /** With `{name}` for a parameter. */
  readonly path: `/${string}`
  readonly access: Access
  /** The limit a request counts against: by key, or by address where the endpoint is public. Readers that are auditors share one. */
  readonly limit?: LimitName
  /** Answered to an auditor although it is no read: nothing comes of it, or the endpoint itself judges who may. */
  readonly auditors?: true
  /** Of access "key": answered to people who signed in and to the keys of approvers as well. Absent: it is about the runs of the caller, and they have none. */
  readonly persons?: true
  /** Takes an idempotency key. */
  readonly idempotent?: true
  /** Takes an idempotency key that is used up: a later request under it is refused. */
  readonly once?: true
  /**
   * Takes the access token of an end user: `decides`, it is part of what is decided, and can be required; `passed_on`, it goes to the requests
   * for permits that the endpoint sends.
   */
  readonly end_user?: "decides" | "passed_on"
  /** Is no GET and may be sent again without an idempotency key: a second request has no effect that the first did not have. */
  readonly repeatable?: true
  readonly path_parameters?: Readonly<Record<string, PathParameter>>
  readonly query?: QuerySchema<unknown>
  readonly body?: AnySchema
  /** Largest body, in bytes; absent: BODY_MAX_BYTES. */
  readonly max_bytes?: number
  /**
   * Nulls of its body that say something: those inside its members, or all of them. Absent: a member that is null counts as absent, and so
   * does one inside another.
   */
  readonly nulls?: "inside" | "all"
  /** Texts of its body are stored as they are: none may hold U+0000. */
  readonly stored?: true
  /** Shapes of the answers that are JSON, and the media types of others, by status. */
  readonly answers: Readonly<Partial<Record<number, AnySchema | MediaType>>>
  /** Its answer is a sealed document, or holds one: a client keeps its text to the letter, so that it can be verified offline. */
  readonly sealed?: true
  /** Ignores query parameters that it does not have. */
  readonly any_parameters?: true
}
export type Routes = Readonly<Record<string, Route>>

/** A schema as a row holds it: known by what it accepts, and not by how it is built. */
export function shape<Value>(schema: QuerySchema<Value>): QuerySchema<Value>
export function shape<Value>(schema: GenericSchema<unknown, Value>): GenericSchema<unknown, Value>
export function shape(schema: GenericSchema): GenericSchema {
  return schema
}
/** A schema of what clients read in their own way: its shape is not written out in the types of a row. */
export const opaque = (schema: AnySchema): AnySchema => schema
type MediaType = `${string}/${string}`

/** What the OpenAPI document says of an endpoint besides its route. */
export type Description = {
  /** Absent: that of its group. */
  readonly tag?: string
  readonly summary: string
  readonly description?: string
  readonly body?: {
    /** Where the document describes more of a body than its endpoint judges by itself. */
    readonly schema?: AnySchema
    readonly example?: object
    /** Instead of one: several by name, with what each shows. */
    readonly examples?: Examples
  }
  /** In words, by status; and what an answer has besides its shape. */
  readonly answers: Readonly<Partial<Record<number, string | Answer>>>
  /** Answered from memory, by code that cannot fail: no status 500. */
  readonly unfailing?: true
  /** Refusals beside those that follow from access, limit, parameters and body. */
  readonly refusals?: readonly RefusalStatus[]
}

/** A route with its description. */
export type Endpoint = Omit<Route, "path" | "body" | "max_bytes" | "answers"> &
  Omit<Description, "tag" | "body" | "answers"> & {
    readonly id: string
    readonly tag: string
    readonly path: string
    readonly body?: NonNullable<Description["body"]> & {
      /** As the OpenAPI document describes it. */
      readonly schema: AnySchema
      /** As the endpoint judges it. */
      readonly judged: AnySchema
      readonly max_bytes: number
    }
    readonly answers: Readonly<Partial<Record<number, Answer>>>
  }

/**
 * The endpoints of a group of routes, in their order.
 * @param descriptions a function, so that a bundler leaves them out where nobody asks for endpoints
 * @throws Error for a route without a description
 */
export function described<Group extends Routes>(
  tag: string,
  routes: Group,
  descriptions: () => { readonly [Id in keyof Group]: Description },
): readonly Endpoint[] {
  const all: Readonly<Record<string, Description>> = descriptions()
  return Object.entries(routes).map(([id, { body, max_bytes = BODY_MAX_BYTES, answers, ...route }]) => {
    const found = all[id]
    if (found === undefined) throw new Error(`the endpoint ${id} has no description`)
    const { body: documented, answers: words, ...description } = found
    return {
      tag,
      ...route,
      ...description,
      id,
      ...(body === undefined ? {} : { body: { schema: body, judged: body, max_bytes, ...documented } }),
      answers: answersOf(answers, words),
    }
  })
}

function answersOf(shapes: Route["answers"], words: Description["answers"]): Endpoint["answers"] {
  const statuses = [...new Set([...Object.keys(shapes), ...Object.keys(words)])].map(Number)
  return Object.fromEntries(
    statuses.map(status => {
      const [shape, phrase = ""] = [shapes[status], words[status]]
      const answer = typeof phrase === "string" ? { description: phrase } : phrase
      return [status, shape === undefined ? answer : { content: contentOf(shape), ...answer }]
    }),
  )
}

const contentOf = (shape: AnySchema | MediaType): NonNullable<Answer["content"]> =>
  typeof shape === "string"
    ? { type: shape, ...(shape.startsWith("text/") ? {} : { binary: true }) }
    : { type: JSON_TYPE, schema: shape }

/** Whether an endpoint refuses query parameters that it does not have. */
export function refusesUnknown({ answers, any_parameters }: Pick<Endpoint, "answers" | "any_parameters">): boolean {
  return answers[200]?.content?.type !== "text/html" && any_parameters === undefined
}

const JSON_TYPE = "application/json"

/** An answer that is a page. */
export const page = (description: string): Answer => ({ description, content: { type: "text/html" } })

/** An answer of one JSON document. */
export const json = (schema: AnySchema, description: string, headers?: Answer["headers"]): Answer => ({
  description,
  content: { type: JSON_TYPE, schema },
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
export const RUN_ID = {
  schema: { type: "integer", minimum: 1, maximum: MAX_ID },
  description: "Run identifier.",
  example: 1,
} as const satisfies PathParameter
