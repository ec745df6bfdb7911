/** The facts a policy decides on, read from what a run is decided on. */
import type { JsonValue } from "@runseal/canonical"
import type { EnvelopeSection, PayloadSection } from "@runseal/core/artifacts/sealed-sections"
import { isObject, member, textMember } from "@runseal/core/vocabulary/json-members"
import type { AttestedContext } from "@runseal/core/wire/execute-request"
import { attestedContextSchema } from "@runseal/core/wire/execute-request"
import * as v from "valibot"
import type { PolicyInput } from "../../policy/policy-input.ts"
import type { Decided } from "../draft.ts"

const items = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : [])
const texts = (values: readonly (JsonValue | undefined)[]): readonly string[] =>
  values.filter(value => typeof value === "string")

function labels(scaffolding: JsonValue | undefined): readonly string[] {
  const classes = member(scaffolding, "data_classification")
  return isObject(classes) ? texts(Object.values(classes).flatMap(items)) : []
}

const attested = ({ declared }: Decided): AttestedContext | undefined => {
  const context = declared.attested_context
  return context === undefined ? undefined : v.parse(attestedContextSchema, context)
}

export function policyInput(
  run: Decided,
  envelope: Pick<EnvelopeSection, "tenant_id" | "execution_region">,
  payload: Pick<PayloadSection, "payload_bytes">,
): PolicyInput {
  const { declared } = run
  const context = attested(run)
  const performed = member(member(declared.authorization_chain, "human_in_loop"), "performed")
  return {
    program_id: run.program_id,
    route_id: run.route_id,
    registry_record_hash: run.registry_record_hash,
    tenant_id: envelope.tenant_id,
    execution_region: envelope.execution_region,
    payload_bytes: payload.payload_bytes,
    declared_tokens: run.declared_tokens,
    ...(context === undefined ? {} : { attested: context }),
    approver_count: items(member(declared.authorization_chain, "approvers")).length,
    ...(typeof performed === "boolean" ? { human_in_loop_performed: performed } : {}),
    data_labels: labels(declared.regulatory_scaffolding),
    effect_kinds: texts(
      items(member(declared.causal_graph, "effect_log")).map(item => textMember(item, "effect_kind")),
    ),
    has_ai_output: run.ai_output_text !== undefined,
  }
}
