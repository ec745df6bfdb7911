/** What the calls are made of: paths, bodies, and how an answer of a known shape is read. */
import { CanonicalizeError, canonicalize, type JsonValue } from "@runseal/canonical"
import type * as v from "valibot"
import { checkShape, type DoneStatus, okAnswer, okObject, type Received } from "./answer.ts"
import { InvalidArgumentError } from "./errors.ts"
import type { Reply } from "./exchange.ts"
import { integerWithin } from "./settings.ts"

/** Reads an answer. */
export const as =
  <T>(schema: v.GenericSchema<unknown, T>, status?: DoneStatus) =>
  (reply: Reply): T =>
    okAnswer(schema, reply, status)

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

/** What cannot be sealed exactly is refused here rather than rounded on the way. @throws InvalidArgumentError */
export function jsonText(value: JsonValue): string {
  try {
    return canonicalize(value)
  } catch (error) {
    if (error instanceof CanonicalizeError) throw new InvalidArgumentError(error.message, { cause: error })
    throw error
  }
}

/** The query of the parameters that are given. @throws InvalidArgumentError */
export function query(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  return `?${given.map(([name, value]) => `${encodeURIComponent(name)}=${encode(name, `${value}`)}`).join("&")}`
}

function encode(name: string, value: string): string {
  if (!value.isWellFormed()) throw new InvalidArgumentError(`${name} holds a lone surrogate.`)
  return encodeURIComponent(value)
}
