/** The body of `POST /attest`. */
import type { JsonObject } from "@runseal/canonical"
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import { issueText } from "@runseal/core/artifacts/schema-issue"
import { holdsNul } from "@runseal/core/vocabulary/json-members"
import { type AttestRequest, attestRequestSchema } from "@runseal/core/wire/attestations"
import * as v from "valibot"
import { badRequest } from "./http-error.ts"

/** @throws HttpError 400 naming the field that is wrong, never its value */
export function readAttestBody(body: JsonObject): AttestRequest {
  const parsed = v.safeParse(attestRequestSchema, body, FIRST_ISSUE)
  if (!parsed.success) throw badRequest(`${issueText(parsed.issues[0])}.`)
  if (holdsNul(body)) throw badRequest("U+0000 is accepted in no text.")
  return parsed.output
}
