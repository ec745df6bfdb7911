/** The body of `POST /execute`: judged, and handed on as it was received. */
import type { JsonObject } from "@runseal/canonical"
import type { DeclaredName } from "@runseal/core/artifacts/declared-sections"
import { DECLARED_NAMES } from "@runseal/core/artifacts/declared-sections"
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import { issueText } from "@runseal/core/artifacts/schema-issue"
import { holdsNul, isObject } from "@runseal/core/vocabulary/json-members"
import { declaredTokens, executeRequestSchema } from "@runseal/core/wire/execute"
import * as v from "valibot"
import type { SubmittedRun } from "../pipeline/submission.ts"
import { badRequest } from "./http-error.ts"

/** @throws HttpError 400 naming the field that is wrong, never its value */
export function readExecuteBody(body: JsonObject): SubmittedRun {
  const parsed = v.safeParse(executeRequestSchema, body, FIRST_ISSUE)
  if (!parsed.success) throw badRequest(`${issueText(parsed.issues[0])}.`)
  const { program_id, route_id, registry_record_hash, payload, payload_text, ai_output_text } = parsed.output
  const declared = declaredOf(body)
  if (holdsNul(withoutTexts(body))) throw badRequest("U+0000 is accepted in payload and ai_output_text only.")
  return {
    program_id,
    route_id,
    registry_record_hash,
    payload: payload_text ?? payload ?? "",
    ...(ai_output_text === undefined ? {} : { ai_output_text }),
    declared,
    declared_tokens: declaredTokens(declared.request_substance),
  }
}

/** The body without the texts that are kept as hashes alone. */
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
