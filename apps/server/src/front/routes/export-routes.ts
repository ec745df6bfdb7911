/** The caller's records with a statement that proves them complete. docs/formats.md section 13; docs/api.md, "GET /runs/export". */
import { Hono } from "hono"
import type { Deps } from "../../deps.ts"
import { unavailable } from "../../http-error.ts"
import { callerOf } from "../access/caller.ts"
import { readExportRange } from "../http/query.ts"

const HEADERS = {
  "Content-Type": "application/x-ndjson",
  "Content-Disposition": 'attachment; filename="runseal-export.ndjson"',
}

export function exportRoutes(deps: Deps): Hono {
  const app = new Hono()
  app.get("/runs/export", async c => {
    const range = readExportRange(c.req.url)
    // An export seals a statement; a request for the head alone does not.
    if (c.req.raw.method === "HEAD") return c.body(null, 200, HEADERS)
    const lines = await deps.openExport(callerOf(c).tenant, range)
    if (lines === undefined)
      throw unavailable(
        "The export cannot be made now: too many are being read. Try again when one of them is done.",
        "overloaded",
      )
    return c.body(lines, 200, HEADERS)
  })
  return app
}
