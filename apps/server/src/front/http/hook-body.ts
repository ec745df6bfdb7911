/** What agents send to `POST /hooks/…`: larger bodies than other endpoints take, since the result of a call is in them. */
import type { JsonObject } from "@runseal/canonical"
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import { issueText } from "@runseal/core/artifacts/schema-issue"
import { type HookSettings, hookQuerySchema } from "@runseal/core/wire/hook-requests"
import type { Context } from "hono"
import * as v from "valibot"
import { badRequest, HttpError } from "../../http-error.ts"
import { DOCUMENT_LIMITS, readJsonObject } from "./json-body.ts"
import { readQuery } from "./query.ts"

/** As large as a document that is verified; it must be a body that can be sent on, so −0 is read as 0. */
export const HOOK_LIMITS = { ...DOCUMENT_LIMITS, acceptsNegativeZero: true }

/** @throws HttpError as `readQuery` */
export const readHookSettings = (c: Context): HookSettings => readQuery(hookQuerySchema, c.req.url)

/** @throws HttpError as `readJsonBody` */
export const readHook = (c: Context): Promise<JsonObject> => readJsonObject(c, HOOK_LIMITS)

/** What the readers above throw; undefined for any other error. */
export const refusalOfHook = (error: unknown): HttpError | undefined => (error instanceof HttpError ? error : undefined)

/** A body as its schema has it; its values are not changed. @throws HttpError 400 naming the member that is wrong, never its value */
export function readHookBody<Schema extends v.GenericSchema>(schema: Schema, body: JsonObject): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, body, FIRST_ISSUE)
  if (parsed.success) return parsed.output
  throw badRequest(`${issueText(parsed.issues[0])}.`)
}
