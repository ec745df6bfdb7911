/** The caller's records with a statement that proves them complete. docs/formats.md section 13; docs/api.md, "GET /runs/export". */
import { OPEN_MODE } from "@runseal/api/queries"
import type { Tenant } from "@runseal/core/wire/submission"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError, notFound, unavailable } from "../../http-error.ts"
import type { AdmittedRange } from "../../store/tables/export-reads.ts"
import { ANONYMOUS, keyCallerOf } from "../access/caller.ts"
import { acceptedCoding, type Compression, compressed } from "../content-coding.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { asRange } from "../query.ts"
import { hasClaim } from "./claim-routes.ts"

const VARY = { Vary: "Accept-Encoding" }
const HEADERS = {
  ...VARY,
  "Content-Type": "application/x-ndjson",
  "Content-Disposition": 'attachment; filename="runseal-export.ndjson"',
}
/** The better one first. */
const COMPRESSIONS: readonly Compression[] = ["zstd", "gzip"]

export function exportRoutes(deps: Deps): Handlers {
  return {
    export_runs: async (c, { query }) => {
      const { tenant, ...asked } = query()
      const [range, ofOpenMode] = [asRange(asked), tenant === OPEN_MODE]
      const caller = keyCallerOf(c)
      if (ofOpenMode && caller.scope !== "anonymous" && !(await hasClaim(deps, caller.api_key_id)))
        throw notFound("No runs of open mode were given to this key.")
      // Each tenant has a chain of its own, and an export is of one chain.
      return sendExport(c, deps, ofOpenMode ? ANONYMOUS.tenant : caller.tenant, range)
    },
  }
}

/** Answers with the lines of an export, in the best coding that the client takes. */
export async function sendExport(
  c: Context,
  deps: Pick<Deps, "openExport">,
  tenant: Tenant,
  range: AdmittedRange,
): Promise<Response> {
  const coding = acceptedCoding(c.req.header("accept-encoding"), COMPRESSIONS)
  if (coding === undefined) throw new HttpError("not_acceptable", "An export is sent plain, with gzip or zstd.", VARY)
  const headers = coding === "identity" ? HEADERS : { ...HEADERS, "Content-Encoding": coding }
  // An export seals a statement; a request for the head alone does not.
  if (c.req.raw.method === "HEAD") return c.body(null, 200, headers)
  const lines = await deps.openExport(
    tenant,
    range,
    coding === "identity" ? undefined : pages => compressed(pages, coding),
  )
  if (lines === undefined)
    throw unavailable(
      "The export cannot be made now: too many are being read. Try again when one of them is done.",
      "overloaded",
    )
  return c.body(lines, 200, headers)
}
