/** Validates the bodies of runs, permits and attestations and those below `/admin/`; declared members go on as received, but for nulls. */
import type { JsonObject } from "@runseal/canonical"
import { DECLARED_NAMES, type DeclaredName } from "@runseal/core/artifacts/declared-sections"
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import { foreignField, isForeignKey, issueText, shownName } from "@runseal/core/artifacts/schema-issue"
import { dropNullMembers, holdsNul, isObject } from "@runseal/core/vocabulary/json-members"
import { declaredTokens, executeRequestSchema } from "@runseal/core/wire/execute-request"
import {
  type ClosePermitRequest,
  closePermitRequestSchema,
  type OpenPermitRequest,
  openPermitRequestSchema,
} from "@runseal/core/wire/permit-requests"
import type { SubmittedRun } from "@runseal/core/wire/submission"
import * as v from "valibot"
import { badRequest } from "../../http-error.ts"

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
  for (const [name, value] of Object.entries(body)) if (value === null) Reflect.deleteProperty(body, name)
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
  refuseNul(withoutTexts(body), "U+0000 is accepted in payload and ai_output_text only.")
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
  refuseNul(withoutTexts(body), "U+0000 is accepted in payload only.")
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

/** @throws HttpError 400 naming the field that is wrong, never its value */
export function readClosePermitBody(body: JsonObject): ClosePermitRequest {
  const { outcome, code, ai_output_text } = readBody(closePermitRequestSchema, body)
  refuseNul(withoutTexts(body), "U+0000 is accepted in ai_output_text only.")
  return {
    outcome,
    ...(code === undefined ? {} : { code }),
    ...(ai_output_text === undefined ? {} : { ai_output_text }),
    ...declaredOf(body),
  }
}

/** @throws HttpError 400 naming the member that contains U+0000 */
function refuseNul(body: JsonObject, rule: string): void {
  const found = Object.entries(body).find(([name, value]) => holdsNul(name) || holdsNul(value))
  if (found === undefined) return
  const name = shownName(found[0])
  throw badRequest(name === undefined ? rule : `${name}: ${rule}`)
}

/** The body without the texts of which only hashes are stored. */
function withoutTexts({
  payload: _payload,
  payload_text: _text,
  ai_output_text: _output,
  ...rest
}: JsonObject): JsonObject {
  return rest
}

function declaredOf(body: JsonObject): Partial<Record<DeclaredName, JsonObject>> {
  const declared: Partial<Record<DeclaredName, JsonObject>> = {}
  for (const name of DECLARED_NAMES) {
    const section = body[name]
    if (isObject(section)) declared[name] = section
  }
  return declared
}
