/** Which permit a path names. */
import { approvalIdSchema } from "@runseal/core/artifacts/approvals"
import { permitIdSchema } from "@runseal/core/vocabulary/scalars"
import * as v from "valibot"
import { type HttpError, notFound } from "../http-error.ts"

/** A permit's id from the path. @throws HttpError 404 for a text that is no id */
export function readPermitId(text = ""): string {
  if (!v.is(permitIdSchema, text)) throw noSuchPermit()
  return text
}
/** The id of a request for an approval from the path. @throws HttpError 404 for a text that is no id */
export function readApprovalId(text = ""): string {
  if (!v.is(approvalIdSchema, text)) throw noSuchApproval()
  return text
}
export const noSuchApproval = (): HttpError => notFound("There is no such request for an approval.")
export const noSuchPermit = (): HttpError => notFound("There is no such permit.")
