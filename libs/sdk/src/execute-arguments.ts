/** The arguments of `execute`, typed for a caller. docs/api.md, "POST /execute". */

/** A value that can be sent: JSON, in which a `Date` becomes its ISO 8601 string and members that are undefined are left out. */
export type JsonInput = null | boolean | number | string | Date | readonly JsonInput[] | JsonInputObject
export type JsonInputObject = { readonly [name: string]: JsonInput | undefined }

/** Members besides the named ones are sealed as they are sent. */
type Open<Members> = Members & JsonInputObject
type Optional<Members> = { readonly [Name in keyof Members]?: Members[Name] | undefined }

/** A time: a `Date`, or RFC 3339 text such as `2026-01-15T09:30:00Z`. */
export type TimeInput = Date | string

/**
 * Who acted, with which model, and what was decided. Only these members are accepted. A policy may require some of them: a run without
 * them ends as `attestation_gap`.
 */
export type AttestedContext = Optional<{
  /** Whether the caller attests to the members below. */
  attested: boolean
  /** The agent or person that acts. */
  actor_id: string
  actor_role: string
  /** Name of the caller's own rule that authorizes the action, such as `four-eyes-above-10000-eur`. */
  authorization_policy: string
  /** Base64 of a signature by the actor; sealed, not verified. */
  actor_signature: string
  model_provider: string
  model_name: string
  model_version: string
  model_temperature: number
  /** SHA-256 of the prompt, 64 lowercase hex digits; compared with `request_substance.prompt.hash`. */
  prompt_hash: string
  /** Kind of decision, such as `payment`. */
  decision_kind: string
  /** Its result, such as `approve`. */
  decision_result: string
  decision_note: string
}>

/** Tokens that the run used. Budgets count `total_tokens`; a cost without it counts as zero. */
export type Cost = Open<
  Optional<{
    /** Integer, at least 0. */
    input_tokens: number
    /** Integer, at least 0. */
    output_tokens: number
    /** Integer, at least 0: the number that budgets count. */
    total_tokens: number
    /** Not a member of a cost: the service calls it `total_tokens`, and would seal this one without counting it. */
    total_token: never
    /** Not a member of a cost: the service calls it `total_tokens`. */
    totalTokens: never
    /** Not a member of a cost: the service calls it `total_tokens`. */
    tokens: never
  }>
>

/** The request and its answer: prompt, output, cost, latency. */
export type RequestSubstance = Open<
  Optional<{
    /** The prompt, by its hash and the id of its template. */
    prompt: Open<Optional<{ hash: string; template_id: string }>>
    /** SHA-256 of the AI output; compared with that of `ai_output_text`. */
    output: Open<Optional<{ hash: string }>>
    /** What was done to the output before it was used. */
    post_processing: readonly JsonInput[] | JsonInputObject
    cost: Cost
    /** Milliseconds, or several of them by name. */
    latency: number | JsonInputObject
    /** Where the request came from. The service adds the hashes of address and agent itself and refuses them here. */
    origin: Open<{ readonly source_ip_hash?: never; readonly user_agent_hash?: never }>
    /** How the caller's own user was authenticated. */
    authentication: JsonInputObject
  }>
>

/** One approval. Approvers are sealed in the order of the list. */
export type Approver = Open<
  Optional<{
    /** Position in the chain of approvals, an integer; usually from 1. */
    order: number
    actor_id: string
    actor_role: string
    approved_at: TimeInput
    /** SHA-256 of the request that this person approved. */
    approved_request_hash: string
    /** Signature of the approver in the caller's own format; sealed, not verified. */
    signature: string
    comment: string
  }>
>

/** A limit that the caller checked. */
export type ThresholdCheck = Open<
  Optional<{
    name: string
    threshold_value: number | string
    observed_value: number | string
    unit: string
    /** Such as `<=`. */
    operator: string
    breached: boolean
  }>
>

/** The review by a person. */
export type HumanInLoop = Open<
  Optional<{
    required: boolean
    performed: boolean
    /** Who reviewed. */
    performed_by: string
    performed_at: TimeInput
    review_mode: string
    review_outcome: string
  }>
>

/** Approvals, limits and reviews that authorize the action. */
export type AuthorizationChain = Open<
  Optional<{
    approvers: readonly Approver[]
    threshold_checks: readonly ThresholdCheck[]
    human_in_loop: HumanInLoop
  }>
>

/** Data classification and other regulatory facts. */
export type RegulatoryScaffolding = Open<
  Optional<{
    /** Labels by category, such as `{ gdpr: ["health"] }`. */
    data_classification: { readonly [category: string]: readonly string[] }
  }>
>

/** An effect outside of the agent. */
export type Effect = Open<
  Optional<{
    /** Such as `funds_transfer`. */
    effect_kind: string
    /** The system that was changed. */
    target: string
    /** Such as `acknowledged`. */
    status: string
    issued_at: TimeInput
    /** SHA-256 of the target's acknowledgement. */
    ack_hash: string
  }>
>

/** Effects of the run, and the runs that it continues. */
export type CausalGraph = Open<
  Optional<{
    effect_log: readonly Effect[]
    /** The run that this one continues. */
    parent_run_id: number | string
    parent_runs: readonly JsonInput[]
    related_runs: readonly JsonInput[]
  }>
>

type Identity = {
  /** SHA-256 of the program that acts, 64 lowercase hex digits: `hashFile` of the deployed package, or a container image's digest. */
  readonly program_id: string
  /** A name that you choose for the kind of work, such as `claims/triage`; 1 to 512 characters. */
  readonly route_id: string
  /** SHA-256 of the entry about the agent in your own register of agents or models, 64 lowercase hex digits. */
  readonly registry_record_hash: string
}

/** The text that the agent acts on. It may be empty. Runseal seals its hash and length and does not store it. */
type Payload =
  /** Another name of `payload`, which is used when both are given. */
  | { readonly payload_text: string; readonly payload?: string | undefined }
  | { readonly payload: string; readonly payload_text?: string | undefined }

type Declared = Optional<{
  attested_context: AttestedContext
  request_substance: RequestSubstance
  authorization_chain: AuthorizationChain
  regulatory_scaffolding: RegulatoryScaffolding
  causal_graph: CausalGraph
  /** Runtime, dependencies, seeds, platform: any members. */
  reproducibility_context: JsonInputObject
  /** The AI's answer, for the governance review. Runseal seals its hash and length and does not store it. */
  ai_output_text: string
}>

/** A run: its identity, its payload, and what the caller declares about it. */
export type ExecuteRequest = Identity & Payload & Declared
