/**
 * Validates the bodies of runs, permits and attestations and those below `/admin/`; declared members go on as received, but for nulls. A run
 * becomes the submission that is sealed.
 */
import { holdsNul, type JsonObject, type JsonValue } from "@runseal/canonical"
import { DECLARED_NAMES, type DeclaredName } from "@runseal/core/artifacts/declared-sections"
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import { foreignField, isForeignKey, issueText, shownName } from "@runseal/core/artifacts/schema-issue"
import { declaredTokens } from "@runseal/core/vocabulary/declared-tokens"
import { dropNullMembers, isObject } from "@runseal/core/vocabulary/json-members"
import { executeRequestSchema } from "@runseal/core/wire/execute-request"
import {
  CLOSE_SECONDS_DEFAULT,
  type ClosePermitRequest,
  closePermitRequestSchema,
  type OpenPermitRequest,
  openPermitRequestSchema,
  VALID_SECONDS_DEFAULT,
} from "@runseal/core/wire/permit-requests"
import type { Submission, SubmittedRun } from "@runseal/core/wire/submission"
import type { Context } from "hono"
import * as v from "valibot"
import type { Deps } from "../deps.ts"
import { badRequest, HttpError } from "../http-error.ts"
import { ANONYMOUS_KEY_ID, type KeyCaller, keyCallerOf, originOf } from "./access/caller.ts"
import { callerAddress, type Proxies } from "./caller-address.ts"

/**
 * Validates a body that was just parsed, and drops its members that are null. Those inside it are dropped once their names were
 * validated: a name that is not accepted is refused with null too.
 * @throws HttpError 400 naming the field that is wrong, never its value
 */
export function readBody<Schema extends v.GenericSchema>(schema: Schema, body: JsonObject): v.InferOutput<Schema> {
  const output = readPolicyBody(schema, body)
  dropNullMembers(body)
  return output
}

/**
 * The same, and nulls inside the members stay: a policy is judged as its file would be. Without its null, a condition would be none, and
 * its rule would match every run.
 */
export function readPolicyBody<Schema extends v.GenericSchema>(
  schema: Schema,
  body: JsonObject,
): v.InferOutput<Schema> {
  for (const name of Object.keys(body)) if (body[name] === null) Reflect.deleteProperty(body, name)
  const parsed = v.safeParse(schema, body, FIRST_ISSUE)
  if (!parsed.success) {
    const [issue] = parsed.issues
    throw badRequest(isForeignKey(issue) ? `The body ${foreignField(issue, schema)}.` : `${issueText(issue)}.`)
  }
  return parsed.output
}

/** For a body in which a null says something: it stays. @throws HttpError 400 naming the field that is wrong, never its value */
export function readBodyWithNulls<Schema extends v.GenericSchema>(
  schema: Schema,
  body: JsonObject,
): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, body, FIRST_ISSUE)
  if (!parsed.success) throw badRequest(`${issueText(parsed.issues[0])}.`)
  return parsed.output
}

/** The same for texts that are stored: none holds U+0000. */
export function readStoredBody<Schema extends v.GenericSchema>(
  schema: Schema,
  body: JsonObject,
): v.InferOutput<Schema> {
  const request = readBody(schema, body)
  refuseNul(body, "U+0000 is accepted in no text.")
  return request
}

/** @throws HttpError 400 naming the field that is wrong, never its value */
export function readExecuteBody(body: JsonObject): SubmittedRun {
  const request = readBody(executeRequestSchema, body)
  const { program_id, route_id, registry_record_hash, payload, payload_text, ai_output_text, enforcement } = request
  const declared = declaredOf(body)
  refuseNul(body, "U+0000 is accepted in payload and ai_output_text only.", HASHED_TEXTS)
  return {
    program_id,
    route_id,
    registry_record_hash,
    payload: payload_text ?? payload ?? "",
    ...(ai_output_text === undefined ? {} : { ai_output_text }),
    declared,
    declared_tokens: declaredTokens(declared.request_substance),
    ...(enforcement === undefined ? {} : { enforcement }),
  }
}

/** What a permit is asked for, beside the request that it permits. */
export type PermitRequest = Pick<
  OpenPermitRequest,
  "audience" | "reserve_tokens" | "valid_for_seconds" | "close_within_seconds" | "redeem_required"
>

/** @throws HttpError 400 naming the field that is wrong, never its value */
export function readOpenPermitBody(body: JsonObject): {
  readonly run: SubmittedRun
  readonly permit: PermitRequest
} {
  const request = readBody(openPermitRequestSchema, body)
  const { program_id, route_id, registry_record_hash, payload, payload_text, enforcement, ...permit } = request
  refuseNul(body, "U+0000 is accepted in payload only.", HASHED_TEXTS)
  return {
    run: {
      program_id,
      route_id,
      registry_record_hash,
      payload: payload_text ?? payload ?? "",
      declared: declaredOf(body),
      declared_tokens: permit.reserve_tokens,
      ...(enforcement === undefined ? {} : { enforcement }),
    },
    permit,
  }
}

/** What a permit is asked for, with the terms of a request that names none. */
export const askedPermit = ({ audience, reserve_tokens, ...request }: PermitRequest): Required<PermitRequest> => ({
  audience,
  reserve_tokens,
  valid_for_seconds: request.valid_for_seconds ?? VALID_SECONDS_DEFAULT,
  close_within_seconds: request.close_within_seconds ?? CLOSE_SECONDS_DEFAULT,
  redeem_required: request.redeem_required === true,
})

/** @throws HttpError 400 naming the field that is wrong, never its value */
export function readClosePermitBody(body: JsonObject): ClosePermitRequest {
  const { outcome, code, ai_output_text } = readBody(closePermitRequestSchema, body)
  refuseNul(body, "U+0000 is accepted in ai_output_text only.", HASHED_TEXTS)
  return {
    outcome,
    ...(code === undefined ? {} : { code }),
    ...(ai_output_text === undefined ? {} : { ai_output_text }),
    ...declaredOf(body),
  }
}

/** Texts of which only hashes are stored. */
const HASHED_TEXTS: readonly string[] = ["payload", "payload_text", "ai_output_text"]

/**
 * @param free names of members that may contain U+0000
 * @throws HttpError 400 naming the member that contains U+0000
 */
function refuseNul(body: JsonObject, rule: string, free: readonly string[] = []): void {
  const found = Object.keys(body).find(name => !free.includes(name) && (holdsNul(name) || holdsNul(body[name] ?? null)))
  if (found === undefined) return
  const name = shownName(found)
  throw badRequest(name === undefined ? rule : `${name}: ${rule}`)
}

/** Most times that a request declares: a record puts them in order, each with its whole place. */
const TIMES_MAX = 8_192

/** How many texts a value has under names that end in `_at`. @param isTime whether the nearest name above it does */
function countTimes(value: JsonValue, isTime = false): number {
  if (typeof value === "string") return isTime ? 1 : 0
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countTimes(item, isTime), 0)
  if (!isObject(value)) return 0
  return Object.keys(value).reduce((sum, name) => sum + countTimes(value[name] ?? null, name.endsWith("_at")), 0)
}

/** @throws HttpError 400 for too many times */
function declaredOf(body: JsonObject): Partial<Record<DeclaredName, JsonObject>> {
  const declared: Partial<Record<DeclaredName, JsonObject>> = {}
  for (const name of DECLARED_NAMES) {
    const section = body[name]
    if (isObject(section)) declared[name] = section
  }
  if (countTimes(declared) > TIMES_MAX)
    throw badRequest(`The body has more than ${TIMES_MAX} times, which are texts under names that end in _at.`)
  return declared
}

// A run with what the server saw of its caller.

/** @throws HttpError 403 for a run that is only to be observed, of a caller who may not ask for that */
export function submissionOf(
  c: Context,
  deps: Pick<Deps, "originSecret" | "observing" | keyof Proxies>,
  run: SubmittedRun,
): Submission {
  const caller = keyCallerOf(c)
  if (run.enforcement !== undefined) mayObserve(caller, deps.observing)
  const address = callerAddress(c, deps)?.text
  const origin = originOf(deps.originSecret, caller, address, c.req.header("user-agent"))
  const { tenant, budgets = {} } = caller
  const end_user = c.get("endUser")
  return { ...run, tenant, origin, budgets, ...(end_user === undefined ? {} : { end_user }) }
}

/** @param allowed who may ask for what is only observed; `everybody` also where every run is observed */
function mayObserve({ api_key_id, observe }: KeyCaller, allowed: Deps["observing"]): void {
  if (allowed === "nobody")
    throw new HttpError("observe_not_allowed", "This deployment lets nobody ask for a run that is only observed.")
  if (allowed === "keys" && api_key_id !== ANONYMOUS_KEY_ID && observe !== true)
    throw new HttpError(
      "observe_not_allowed",
      "This key may not ask for a run that is only observed: an admin key can set observe to true on it.",
    )
}
