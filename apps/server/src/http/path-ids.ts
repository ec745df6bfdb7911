/** Ids in the paths of keys, runs, destinations, permits and requests for an approval. */

import { approvalIdSchema } from "@runseal/core/artifacts/approvals"
import { permitIdSchema } from "@runseal/core/vocabulary/scalars"
import * as v from "valibot"
import { type HttpError, notFound } from "../http-error.ts"

/** A key's id from the path. @throws HttpError 404 for a text that is no id */
export const readKeyId = (text: string | undefined): number => readId(text, noSuchKey)
export const noSuchKey = (): HttpError => notFound("There is no such key.")

/** A run's id from the path. @throws HttpError 404 for a text that is no id */
export const readRunId = (text: string | undefined): number => readId(text, noSuchRun)
export const noSuchRun = (): HttpError => notFound("There is no such run.")

/** A number from the path. @throws what `missing` makes, for a text that is none */
export function readId(text = "", missing: () => HttpError): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(id)) throw missing()
  return id
}

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
