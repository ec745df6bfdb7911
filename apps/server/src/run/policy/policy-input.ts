/**
 * What a policy can see of a run, as a typed Cedar context. Everything in it is either computed by the server or the
 * caller's own declaration; `attested` is declared and never verified.
 */
import type { Context, TypeAndId } from "@cedar-policy/cedar-wasm/nodejs"
import type { AttestedContext } from "@runseal/core/wire/execute-request"

/** The facts a policy decides on. Counts are integers from 0 to 2^53 − 1. */
export interface PolicyInput {
  readonly program_id: string
  readonly route_id: string
  readonly registry_record_hash: string
  /** The authenticated key (`api-key-<N>`) or `anonymous`; never the caller's declaration. */
  readonly tenant_id: string
  readonly execution_region: string
  readonly payload_bytes: number
  /** `request_substance.cost.total_tokens`, 0 when absent. */
  readonly declared_tokens: number
  readonly attested?: AttestedContext
  /** Entries of `authorization_chain.approvers`. */
  readonly approver_count: number
  /** `authorization_chain.human_in_loop.performed` when declared. */
  readonly human_in_loop_performed?: boolean
  /** All labels of `regulatory_scaffolding.data_classification`. */
  readonly data_labels: readonly string[]
  /** `effect_kind` of each entry of `causal_graph.effect_log`. */
  readonly effect_kinds: readonly string[]
  readonly has_ai_output: boolean
}

/** The Cedar schema of the request; rules are strictly validated against it, so a misspelt attribute never loads. */
export const CEDAR_SCHEMA = `
type Attested = {
  attested?: Bool,
  actor_id?: String,
  actor_role?: String,
  authorization_policy?: String,
  actor_signature?: String,
  model_provider?: String,
  model_name?: String,
  model_version?: String,
  model_temperature?: decimal,
  prompt_hash?: String,
  decision_kind?: String,
  decision_result?: String,
  decision_note?: String,
};
entity Tenant, Program;
action "execute" appliesTo {
  principal: [Tenant],
  resource: [Program],
  context: {
    program_id: String,
    route_id: String,
    registry_record_hash: String,
    tenant_id: String,
    execution_region: String,
    payload_bytes: Long,
    declared_tokens: Long,
    attested?: Attested,
    approver_count: Long,
    human_in_loop_performed?: Bool,
    data_labels: Set<String>,
    effect_kinds: Set<String>,
    has_ai_output: Bool,
  },
};
`

const [ATTESTED_TYPE = "", ACTION_TYPE = ""] = CEDAR_SCHEMA.split("entity ")

/** The attributes that a condition can ask for, as the schema names them. */
export const attributesOf = (of: "context" | "attested"): readonly string[] =>
  [
    ...(of === "attested" ? ATTESTED_TYPE : ACTION_TYPE.slice(ACTION_TYPE.indexOf("context:") + 8)).matchAll(
      /(\w+)\??: /g,
    ),
  ].flatMap(([, name]) => (name === undefined ? [] : [name]))

/** One Cedar request: who (tenant), what (the one action `execute`), on what (program), and the context. */
interface CedarRequest {
  readonly principal: TypeAndId
  readonly action: TypeAndId
  readonly resource: TypeAndId
  readonly context: Context
}

/**
 * A number as Cedar `decimal` text (at most four fraction digits), or undefined when that would not be the same number.
 * Fourteen integer digits stay inside the type's range of ±922,337,203,685,477.5807.
 */
export function cedarDecimal(value: number): string | undefined {
  const text = String(value)
  if (!/^-?\d{1,14}(?:\.\d{1,4})?$/.test(text)) return undefined
  return text.includes(".") ? text : `${text}.0`
}

function attestedRecord(attested: AttestedContext): Context {
  const { model_temperature, ...plain } = attested
  const decimal = model_temperature === undefined ? undefined : cedarDecimal(model_temperature)
  return decimal === undefined ? plain : { ...plain, model_temperature: { __extn: { fn: "decimal", arg: decimal } } }
}

/**
 * The Cedar request of a run. A temperature that no Cedar decimal can express exactly is left out; `evaluatePolicy`
 * denies before any rule could mistake that for a temperature not declared.
 */
export function cedarRequest(input: PolicyInput): CedarRequest {
  const { attested, data_labels, effect_kinds, ...facts } = input
  return {
    principal: { type: "Tenant", id: input.tenant_id },
    action: { type: "Action", id: "execute" },
    resource: { type: "Program", id: input.program_id },
    context: {
      ...facts,
      ...(attested === undefined ? {} : { attested: attestedRecord(attested) }),
      data_labels: [...data_labels],
      effect_kinds: [...effect_kinds],
    },
  }
}
