/** `GET /health`, `/ready` and `/version`: no key, no limit. docs/api.md, "GET /health". */
import { ENGINE_VERSION, FORMULA_VERSION } from "@runseal/core/vocabulary/versions"
import type { HealthAnswer, ReadyAnswer, VersionAnswer } from "@runseal/core/wire/service-answers"
import type { Deps } from "../../deps.ts"
import { unavailable } from "../../http-error.ts"
import { SERVICE_NAME, SERVICE_VERSION } from "../../options/config.ts"
import type { Handlers } from "../endpoint-routes.ts"

async function readyAnswer({ readiness, outside }: Deps): Promise<ReadyAnswer> {
  const found = await readiness()
  if (!found.ready) throw unavailable(found.reason)
  const { log_size, checked_at } = found
  const behind = await outside?.standing().catch(() => undefined)
  return {
    ok: true,
    ready: true,
    log_size,
    checked_at: new Date(checked_at).toISOString(),
    ...(behind === undefined ? {} : { outside_backlog: behind.backlog }),
    ...(behind?.fault === undefined ? {} : { outside_fault: behind.fault }),
  }
}

export function healthRoutes(deps: Deps): Handlers {
  const service: Omit<HealthAnswer, "time"> = {
    ok: true,
    service: SERVICE_NAME,
    version: SERVICE_VERSION,
    orchestrator_version: deps.orchestratorVersion,
    orchestrator_git_sha: deps.sourceRevision,
  }
  const version: VersionAnswer = {
    ...service,
    engine_version: ENGINE_VERSION,
    formula_version: FORMULA_VERSION,
    log_origin: deps.logOrigin,
    ...(deps.baseUrl === undefined ? {} : { base_url: deps.baseUrl }),
    ...(deps.signIns === undefined ? {} : { sign_in_with: deps.signIns.host }),
  }
  const health = (): HealthAnswer => ({ ...service, time: new Date(deps.nowMs()).toISOString() })
  return {
    health: c => c.json(health()),
    ready: async c => c.json(await readyAnswer(deps)),
    version: c => c.json(version),
  }
}
