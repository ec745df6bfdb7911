/** What agents send to `POST /hooks/…`: larger bodies than other endpoints take, since the result of a call is in them. */
import {
  type JsonObject,
  type JsonValue,
  parseStrictJson,
  StrictJsonError,
  type StrictJsonErrorCode,
  strictValue,
  utf8Decode,
} from "@runseal/canonical"
import { type HookSettings, hookQuerySchema } from "@runseal/core/wire/hook-requests"
import type { Context } from "hono"
import { HttpError } from "../http-error.ts"
import { BODY_MAX_NODES, bodyLimits, parseObject, queueWork, receiveJson } from "./json-body.ts"
import { readQuery } from "./query.ts"

/** @throws HttpError as `readQuery` */
export const readHookSettings = (c: Context): HookSettings => readQuery(hookQuerySchema, c.req.url)

/** What JSON programs write, and strict JSON cannot: read as texts, so that it is searched and reviewed. */
const READ_AS_TEXTS: readonly StrictJsonErrorCode[] = ["unsafe_integer", "inexact_number", "lone_surrogate", "too_deep"]
/** Objects and lists inside so many others are read as one text: there is room for them in what is sent on. */
const VALUE_MAX_DEPTH = 60

/** @throws HttpError as `readJsonBody` */
export async function readHook(c: Context): Promise<JsonObject> {
  // It must be a body that can be sent on, so −0 is read as 0.
  const limits = { ...bodyLimits(c), maxNodes: BODY_MAX_NODES, acceptsNegativeZero: true }
  const { bytes } = await receiveJson(c, limits)
  await queueWork(c)
  return parseObject(bytes, limits, parseWithTexts)
}

/** @throws StrictJsonError for what no JSON program writes */
function parseWithTexts(...[input, limits]: Parameters<typeof parseStrictJson>): JsonValue {
  try {
    return parseStrictJson(input, limits)
  } catch (error) {
    if (!(error instanceof StrictJsonError && READ_AS_TEXTS.includes(error.code))) throw error
    const value = anyJson(typeof input === "string" ? input : utf8Decode(input))
    if (value === undefined) throw error
    return strictValue(value, VALUE_MAX_DEPTH)
  }
}

function anyJson(text = ""): JsonValue | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What the readers above throw; undefined for any other error. */
export const refusalOfHook = (error: unknown): HttpError | undefined => (error instanceof HttpError ? error : undefined)
