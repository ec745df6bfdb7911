/** A run that is judged without a service, as `policy check` and `policy test` do it. */
import type { JsonObject } from "@runseal/canonical"
import type { Origin } from "@runseal/core/artifacts/declared-sections"
import type { EndUser } from "@runseal/core/artifacts/end-user"
import { payloadAsked, requestGrounds } from "@runseal/core/seal/gates/pepg"
import type { AskedPermit } from "@runseal/core/seal/permits/permit-terms"
import { receive } from "@runseal/core/seal/received-run"
import { dog } from "@runseal/core/seal/stages"
import { ZERO_HASH } from "@runseal/core/vocabulary/scalars"
import type { Judgement } from "@runseal/core/wire/policy-requests"
import type { SubmittedRun } from "@runseal/core/wire/submission"
import type { CompiledPolicy } from "@runseal/policy/load-policy"
import { provenanceOf } from "./execution.ts"
import { WATCH } from "./followed-steps.ts"
import { readPayload } from "./inspection/inspect-job.ts"
import type { Config } from "./options/config.ts"
import { judgePolicy } from "./policy/judge-policy.ts"

/** What a command prints, and whether it found what was expected. */
export type PolicyOutput = { readonly json: JsonObject; readonly lines: readonly string[]; readonly passed: boolean }

/** A request that declares nothing beside what it must. */
export const PLAIN: SubmittedRun = {
  program_id: "a1".repeat(32),
  route_id: "example",
  registry_record_hash: "b2".repeat(32),
  payload: "example",
  declared: {},
  declared_tokens: 0,
}
/** Whose run it is, when, and on which terms where it is the opening of a permit. */
export type Judging = {
  readonly tenant_id: string
  readonly clock?: string | undefined
  readonly asked?: AskedPermit | undefined
  readonly end_user?: EndUser | undefined
}

const NOBODY: Origin = {
  source_ip_hash: ZERO_HASH,
  user_agent_hash: ZERO_HASH,
  authentication: { method: "api_key", api_key_id: 1 },
}

/** What a policy comes to, and of an unreadable act what of it could not be read. */
type TriedRun = Judgement & { readonly unreadable?: readonly string[] }

/** Judges a run as the pipeline does, with the sections that a record of it would have. */
export function tryRun(policy: CompiledPolicy, { region }: Config, by: Judging, run: SubmittedRun): TriedRun {
  const { tenant_id, clock: at = new Date().toISOString(), asked, end_user } = by
  const moment = { at, nonce: ZERO_HASH, seed: ZERO_HASH }
  const submission = { ...run, tenant: { tenant_id, owner: 1 }, origin: NOBODY, ...(end_user && { end_user }) }
  const passage = { region, policy, system_provenance: provenanceOf("unknown"), watch: WATCH }
  const spending = { tokens: run.declared_tokens, run_limit: run.declared_tokens }
  const { base, facts } = receive(submission, moment, spending, passage)
  const { seal } = facts.texts
  const envelope = seal(dog(submission, moment, base, { region }))
  const sees = payloadAsked(policy, run.route_id)
  const seen = sees && readPayload(run.payload, sees.table)
  const { act, facts: known } = requestGrounds(run, { asked, seen }, moment, policy, seal)
  const judgement = judgePolicy(policy, { sections: { ...base, envelope, ...(act && { act }) }, facts: known })
  if (judgement.reason !== "ACT_UNREADABLE") return judgement
  const faults = seen?.act?.unreadable ?? []
  const unreadable = faults.map(fault => `${"name" in fault ? fault.name : fault.at || "payload"} ${fault.problem}`)
  return { ...judgement, unreadable }
}

export function inWords({ decision, rule_id, reason, missing_fields, unreadable = [] }: TriedRun): string {
  if (missing_fields !== undefined) return `not admitted, without ${missing_fields.join(", ")}`
  const why = [reason, unreadable.join(", ")].filter(text => text !== undefined && text !== "").join(": ")
  return `${decision} by ${rule_id}${why === "" ? "" : ` (${why})`}`
}
