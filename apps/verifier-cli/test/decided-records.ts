/** Records that a real policy decided, sealed by a fixture deployment; and the same retold by an operator who has every key. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { Opening } from "@runseal/core/artifacts/opening"
import type { PepgDecision } from "@runseal/core/formulas/decision"
import type { PolicyDocument } from "@runseal/core/wire/policy-document-schema"
import { decide } from "@runseal/policy/decide"
import { type CompiledPolicy, compilePolicy } from "@runseal/policy/load-policy"
import {
  collectPermit,
  type EndedSpec,
  refuseRequest,
  requestApproval,
  type SealedRequest,
} from "../../../libs/core/test/fixtures/asked-approvals.ts"
import type { Plan } from "../../../libs/core/test/fixtures/declared-plan.ts"
import {
  type Deployment,
  makeDeployment,
  sealRun,
  type TenantChain,
  tenantOf,
} from "../../../libs/core/test/fixtures/deployment.ts"
import { asJson, type Json, membersOf } from "../../../libs/core/test/fixtures/json-values.ts"
import { type OpeningSpec, openPermit } from "../../../libs/core/test/fixtures/permits.ts"
import { admit, alteredTexts, evaluate } from "../../../libs/core/test/fixtures/resealed-draft.ts"
import type { Alterations } from "../../../libs/core/test/fixtures/resealed-part.ts"
import { planRun } from "../../../libs/core/test/fixtures/run-spec.ts"
import { NOTHING_TO_GOVERN, RELEASED } from "../../../libs/core/test/fixtures/samples.ts"
import { END_USER } from "../../../libs/core/test/fixtures/vectors/end-user-vectors.ts"

export type Request = Partial<
  Pick<
    Plan,
    | "program_id"
    | "route_id"
    | "registry_record_hash"
    | "execution_region"
    | "payload"
    | "ai_output"
    | "declared"
    | "origin"
    | "end_user"
  >
> & { readonly tenant?: string; readonly at?: string }

/** What an operator seals in place of what was decided on. */
export type Retold = {
  readonly request?: Request
  readonly alter?: Alterations
  readonly decision?: PepgDecision
}

function planOf(deployment: Deployment, tenant: TenantChain, policy: CompiledPolicy, request: Request): Plan {
  const { tenant: _, at, ...given } = request
  const plan = planRun(deployment, tenant, { outcome: "ok", minimal: true })
  const moment = at === undefined ? plan.moment : { ...plan.moment, at }
  const whole = { ...plan, policy, moment, ...given }
  const review = whole.ai_output === undefined ? NOTHING_TO_GOVERN : RELEASED
  return { ...whole, review, named_groups: policy.named_groups, act_table: policy.readerOf(whole.route_id)?.table }
}

/** What the policy makes of a plan: the evaluation that a service would seal. */
function decidedOn(plan: Plan, policy: CompiledPolicy) {
  const texts = alteredTexts(plan)
  const { run, envelope, ...admitted } = admit(plan, texts)
  const sections = { ...run.base, envelope, ...evaluate(plan, texts, { run, envelope, ...admitted }) }
  const { facts } = sections.policy_evaluation
  const payload_is_json = policy.reads.has("verified.payload_is_json") ? { payload_is_json: isJson(plan.payload) } : {}
  const whole = { ...facts, ...payload_is_json }
  return { ...decide(policy, sections, whole), facts: whole }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Seals a run that the policy decides. @param retold what is sealed instead, under the decision and the `context_hash` of the request */
export function decidedRun(
  deployment: Deployment,
  document: PolicyDocument,
  request: Request = {},
  retold: Retold = {},
): Bundle {
  const policy = compilePolicy(document)
  const tenant = request.tenant ?? "api-key-1"
  deployment.runs++
  const { decision, context_hash, facts } = decidedOn(
    planOf(deployment, tenantOf(deployment, tenant), policy, request),
    policy,
  )
  deployment.runs--
  const sealed = retold.decision ?? decision
  const outcome = sealed.decision === "allow" ? "ok" : "pepg_deny"
  return sealRun(deployment, {
    outcome,
    tenant: retold.request?.tenant ?? tenant,
    plan: (own, chain) => ({
      ...planOf(own, chain, policy, { ...request, ...retold.request }),
      outcome,
      decision: sealed,
    }),
    alter: {
      ...retold.alter,
      policy_evaluation: part => {
        const evaluation = membersOf(part)
        const given = asJson({
          ...evaluation,
          facts: { ...facts, ...membersOf(evaluation.facts) },
          ...(context_hash === undefined ? {} : { context_hash }),
        })
        return retold.alter?.policy_evaluation?.(given) ?? given
      },
    },
  }).bundle
}

/** Opens a permit that the policy admits. @param retold terms that are sealed instead */
export function decidedOpening(
  deployment: Deployment,
  document: PolicyDocument,
  spec: OpeningSpec,
  retold: Partial<OpeningSpec> = {},
): Opening {
  const policy = compilePolicy(document)
  const { policy_id, policy_name, policy_hash } = policy
  const evaluatedBy = (changes: object): Alterations => ({
    policy_evaluation: part =>
      asJson({ ...membersOf(part), policy_id, policy_name, profile_tag: undefined, policy_hash, ...changes }),
  })
  const { sections } = openPermit(deployment, { ...spec, alter: evaluatedBy({}) }).opening
  const { decision, context_hash } = decide(policy, sections, sections.policy_evaluation.facts)
  const alter = evaluatedBy({ ...decision, context_hash })
  deployment.openings--
  return openPermit(deployment, { ...spec, at: sections.envelope.admission_clock, alter, ...retold }).opening
}

/** Requests for an approval under a policy of one rule, which requires that of two, and what they come to. */
export function decidedApprovals(deployment: Deployment, document: PolicyDocument) {
  const policy = compilePolicy(document)
  const { policy_id, policy_name, policy_hash } = policy
  const spec = { end_user: END_USER }
  const { sections } = requestApproval(makeDeployment(), spec).request
  const { context_hash } = decide(policy, sections, sections.policy_evaluation.facts)
  const named = { policy_id, policy_name, profile_tag: undefined, policy_hash, context_hash }
  const alter = (change: (part: Json) => Json): Alterations => ({
    policy_evaluation: part => change(asJson({ ...membersOf(part), ...named })),
  })
  const same = (part: Json): Json => part
  return {
    request: () => requestApproval(deployment, { ...spec, alter: alter(same) }),
    /** @param change, retell what an operator seals instead */
    opening: (asked: SealedRequest, change = same, retell: EndedSpec["retell"] = approvals => approvals): Opening =>
      collectPermit(deployment, asked, { alter: alter(change), retell }).opening,
    rejected: (asked: SealedRequest): Bundle =>
      refuseRequest(deployment, asked, "rejected", { alter: alter(same) }).bundle,
  }
}
