/** Parts that the calls share: paths, query strings, and reading an answer of a known shape. */
import { permitIdSchema } from "@runseal/core/vocabulary/scalars"
import { IDEMPOTENCY_KEY_MAX_LENGTH, isIdempotencyKey } from "@runseal/core/wire/idempotency-key"
import * as v from "valibot"
import { InvalidArgumentError } from "./client-errors.ts"
import type { Call, Reply } from "./exchange.ts"
import { lenient } from "./lenient.ts"
import { checkShape, type DoneStatus, okAnswer, okObject, type Received } from "./read-reply.ts"
import { type ActionOptions, integerWithin, type OnceOptions, type Settings } from "./settings.ts"

/** Reads an answer and leaves out members that the shape does not name. */
export const as =
  <T>(schema: v.GenericSchema<unknown, T>, status?: DoneStatus) =>
  (reply: Reply): T =>
    okAnswer(lenient(schema), reply, status)

/** Reads a sealed document and keeps its text. */
export const received =
  <T>(schema: v.GenericSchema<unknown, T>, status?: DoneStatus) =>
  (reply: Reply): Received<T> => {
    const { document, text } = okObject(reply, status)
    return { document: checkShape(schema, document), text }
  }

/** @throws InvalidArgumentError */
export const runPath = (runId: number): string =>
  `/runs/${integerWithin("The run id", runId, 1, Number.MAX_SAFE_INTEGER)}`

/** @throws InvalidArgumentError */
export function permitPath(permitId: string): string {
  if (!v.is(permitIdSchema, permitId))
    throw new InvalidArgumentError("A permit's id is pmt- and 32 lowercase hex digits.")
  return `/permits/${permitId}`
}

/** A call that creates something: only an idempotency key makes a retry safe. @throws InvalidArgumentError */
export const onceCall = (settings: Settings, path: string, body: string, options: OnceOptions = {}): Call =>
  keyedCall(
    { path, body, repeatable: false },
    { idempotencyKey: options.idempotencyKey ?? settings.newIdempotencyKey?.() },
  )

/** A call under the idempotency key of its caller, if there is one: then a retry is safe. @throws InvalidArgumentError */
export function keyedCall(call: Call, { idempotencyKey }: ActionOptions = {}): Call {
  if (idempotencyKey === undefined) return call
  if (!isIdempotencyKey(idempotencyKey))
    throw new InvalidArgumentError(
      `An idempotency key must be 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} printable ASCII characters.`,
    )
  return { ...call, repeatable: true, idempotencyKey }
}

/** A query string of the parameters that are defined. @throws InvalidArgumentError */
export function query(parameters: Readonly<Record<string, string | number | Date | undefined>>): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encode(name, textOf(name, value))}`],
  )
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`
}

function textOf(name: string, value: string | number | Date): string {
  if (!(value instanceof Date)) return `${value}`
  if (Number.isNaN(value.getTime())) throw new InvalidArgumentError(`${name} is an invalid date.`)
  return value.toISOString()
}

function encode(name: string, value: string): string {
  if (!value.isWellFormed()) throw new InvalidArgumentError(`${name} holds a lone surrogate.`)
  return encodeURIComponent(value)
}
