/** Which permit a path names. */
import { permitIdSchema } from "@runseal/core/vocabulary/scalars"
import * as v from "valibot"
import { type HttpError, notFound } from "../http-error.ts"

/** A permit's id from the path. @throws HttpError 404 for a text that is no id */
export function readPermitId(text = ""): string {
  if (!v.is(permitIdSchema, text)) throw noSuchPermit()
  return text
}
export const noSuchPermit = (): HttpError => notFound("There is no such permit.")
