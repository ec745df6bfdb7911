/** Which permits a list shows, and which one a path names. */
import { permitsQuerySchema } from "@runseal/api/queries"
import { permitIdSchema } from "@runseal/core/vocabulary/scalars"
import type { PermitState } from "@runseal/core/wire/permit-requests"
import * as v from "valibot"
import { type HttpError, notFound } from "../http-error.ts"
import { asPage, type Page, readQuery } from "./query.ts"

/** State and page of `GET /permits`; without a state all permits. @throws HttpError 400 */
export function readPermitsQuery(url: string): { readonly state: PermitState | undefined; readonly page: Page } {
  const { state, ...asked } = readQuery(permitsQuerySchema, url)
  return { state, page: asPage(asked) }
}

/** A permit's id from the path. @throws HttpError 404 for a text that is no id */
export function readPermitId(text = ""): string {
  if (!v.is(permitIdSchema, text)) throw noSuchPermit()
  return text
}
export const noSuchPermit = (): HttpError => notFound("There is no such permit.")
