/** `GET /health` and `/version`: no key, no limit. Specification, "GET /health". */
import { ENGINE_VERSION, FORMULA_VERSION } from "@runseal/core/vocabulary/versions"
import { Hono } from "hono"
import { SERVICE_NAME, SERVICE_VERSION } from "../config.ts"
import type { Deps } from "../deps.ts"

export function healthRoutes(deps: Deps): Hono {
  const app = new Hono()
  const service = {
    ok: true,
    service: SERVICE_NAME,
    version: SERVICE_VERSION,
    orchestrator_version: deps.orchestratorVersion,
    orchestrator_git_sha: deps.sourceRevision,
  }
  app.get("/health", c => c.json({ ...service, time: new Date(deps.nowMs()).toISOString() }))
  app.get("/version", c =>
    c.json({
      ...service,
      engine_version: ENGINE_VERSION,
      formula_version: FORMULA_VERSION,
      log_origin: deps.logOrigin,
      ...(deps.baseUrl === undefined ? {} : { base_url: deps.baseUrl }),
    }),
  )
  return app
}
