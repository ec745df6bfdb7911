/** The answer of `POST /execute`, as a projection of the bundle. docs/api.md, "POST /execute". */
import type { JsonObject } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle"
import { durationMs, receiptOf } from "@runseal/core/artifacts/bundle"
import { OUTCOMES } from "@runseal/core/vocabulary/outcomes"

export function executeAnswer(bundle: Bundle): { readonly status: 200 | 422 | 500; readonly body: JsonObject } {
  const { run, manifest, partial_manifest, allow_token } = bundle
  const { http_status: status, sentence } = OUTCOMES[run.outcome_kind]
  const base = { run_id: run.run_id, duration_ms: durationMs(run) }
  if (manifest !== undefined && allow_token !== undefined)
    return { status, body: { ok: true, ...base, manifest, allow_token } }
  const found = receiptOf(bundle)
  const refused = {
    ok: false,
    ...base,
    error: run.error_message ?? sentence,
    error_stage: run.error_stage ?? "",
    ...(partial_manifest === undefined ? {} : { partial_manifest }),
    ...(found === undefined ? {} : { [found.key]: found.receipt }),
  }
  return { status, body: refused }
}
