/** The call to an endpoint, as the table of endpoints has it, and how its answer is read. */

import type { PathParameter, Route } from "@runseal/api/endpoint"
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import { issueReason } from "@runseal/core/artifacts/schema-issue"
import { IDEMPOTENCY_KEY_MAX_LENGTH, isIdempotencyKey } from "@runseal/core/wire/idempotency-key"
import * as v from "valibot"
import { InvalidArgumentError, ProtocolError } from "./client-errors.ts"
import type { Call, Reply } from "./exchange.ts"
import { lenient } from "./lenient.ts"
import { jsonText } from "./plain-json.ts"
import { checkShape, type DoneStatus, okAnswer, okObject, type Received, refusal } from "./read-reply.ts"
import { type EndUserOption, integerWithin, type OnceOptions, type Settings } from "./settings.ts"

/** What a call sends: values of the parameters in its path, in their order, and its query or its body. */
export type Sent = {
  readonly place?: readonly unknown[]
  readonly query?: Readonly<Record<string, unknown>> | undefined
  /** A text is sent as it is. */
  readonly body?: unknown
}

/**
 * The call to an endpoint. One that reads is retried, and so is one whose second request has no effect, or that has an idempotency key.
 * @throws InvalidArgumentError for what its row does not accept in path and query, and for a body without a JSON form
 */
export function callTo(
  { newIdempotencyKey, endUserToken: ofClient }: Pick<Settings, "newIdempotencyKey" | "endUserToken">,
  route: Route,
  { place = [], query = {}, body }: Sent = {},
  { idempotencyKey, endUserToken = ofClient }: OnceOptions & EndUserOption = {},
): Call {
  const call: Call = {
    method: METHODS[route.method],
    path: pathTo(route, place) + queryText(route, query),
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : jsonText(body) }),
    repeatable: route.method === "get" || route.repeatable === true,
    ...(route.access === "public" ? { public: true } : {}),
    ...(route.end_user === "decides" && endUserToken !== undefined ? { endUserToken } : {}),
  }
  const takesKey = route.idempotent === true || route.once === true
  const key = takesKey ? (idempotencyKey ?? (route.idempotent === true ? newIdempotencyKey?.() : undefined)) : undefined
  if (key === undefined) return call
  if (!isIdempotencyKey(key))
    throw new InvalidArgumentError(
      `An idempotency key must be 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} printable ASCII characters.`,
    )
  return { ...call, repeatable: true, idempotencyKey: key }
}

const METHODS = { get: "GET", post: "POST", patch: "PATCH", delete: "DELETE" } as const

/** How many parameters a path has. */
export const placesIn = (path: string): number => path.split("{").length - 1

/** @param place values of its parameters, in their order. @throws InvalidArgumentError */
function pathTo({ path, path_parameters = {} }: Route, place: readonly unknown[]): string {
  const [start = "", ...rest] = path.split("{")
  const filled = rest.map((part, index) => {
    const end = part.indexOf("}")
    const name = part.slice(0, end)
    return placeText(name, path_parameters[name], place[index]) + part.slice(end + 1)
  })
  return start + filled.join("")
}

function placeText(name: string, parameter: PathParameter | undefined, value: unknown): string {
  const { schema, description } = parameter ?? { schema: { type: "string" }, description: name }
  const shown = `${name} (${description.replace(/\.$/, "")})`
  if (schema.type === "integer")
    return `${integerWithin(shown, typeof value === "number" ? value : Number.NaN, schema.minimum, schema.maximum)}`
  if (typeof value !== "string" || (schema.pattern !== undefined && !new RegExp(schema.pattern).test(value)))
    throw new InvalidArgumentError(`${shown} must be a text like ${parameter?.example}.`)
  return parameter?.many_segments ? value : encoded(name, value)
}

/** @throws InvalidArgumentError for a value that the row does not accept */
function queryText({ query: schema }: Route, values: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, valueText(name, value)] as const],
  )
  const parsed = schema === undefined ? undefined : v.safeParse(schema, Object.fromEntries(given), FIRST_ISSUE)
  if (parsed?.success === false)
    throw new InvalidArgumentError(`${v.getDotPath(parsed.issues[0])} ${issueReason(parsed.issues[0])}.`)
  const pairs = given.map(([name, text]) => `${encodeURIComponent(name)}=${encoded(name, text)}`)
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`
}

function valueText(name: string, value: unknown): string {
  if (!(value instanceof Date)) return `${value}`
  if (Number.isNaN(value.getTime())) throw new InvalidArgumentError(`${name} is an invalid date.`)
  return value.toISOString()
}

function encoded(name: string, text: string): string {
  if (!text.isWellFormed()) throw new InvalidArgumentError(`${name} holds a lone surrogate.`)
  return encodeURIComponent(text)
}

/** Reads an answer and leaves out members that the shape does not name. */
export const as =
  <T>(schema: v.GenericSchema<unknown, T>) =>
  (reply: Reply): T =>
    okAnswer(lenient(schema), reply, doneOf(reply))

/** Reads a document and keeps its text. */
export const received =
  <T>(schema: v.GenericSchema<unknown, T>) =>
  (reply: Reply): Received<T> => {
    const { document, text } = okObject(reply, doneOf(reply))
    return { document: checkShape(lenient(schema), document), text }
  }

/** What the answer of an endpoint holds; of one that is sealed with its exact text. @throws HttpStatusError, ProtocolError */
export const answerOf =
  ({ answers, sealed }: Route) =>
  (reply: Reply): unknown => {
    const schema = answers[doneOf(reply)]
    if (schema === undefined) throw refusal(reply)
    if (typeof schema === "string") throw new ProtocolError("its form is not known")
    return (sealed === true ? received(schema) : as(schema))(reply)
  }

const doneOf = ({ status }: Reply): DoneStatus => (status === 201 ? 201 : 200)
