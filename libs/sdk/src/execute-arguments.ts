/** The arguments of `execute`, typed for a caller. docs/api.md, "POST /execute". */

/** A value that can be sent: JSON, in which a `Date` becomes its ISO 8601 string and members that are undefined are left out. */
export type JsonInput = null | boolean | number | string | Date | readonly JsonInput[] | JsonInputObject
export type JsonInputObject = { readonly [name: string]: JsonInput | undefined }

/** Members besides the named ones are sealed as they are sent. */
export type Open<Members> = Members & JsonInputObject
export type Optional<Members> = { readonly [Name in keyof Members]?: Members[Name] | undefined }

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
  /** Role of the actor, such as `payment-preparer`. */
  actor_role: string
  /** Name of the caller's own rule that authorizes the action, such as `four-eyes-above-10000-eur`. */
  authorization_policy: string
  /** Base64 of a signature by the actor; sealed, not verified. */
  actor_signature: string
  /** Company or service that runs the model. */
  model_provider: string
  /** Name of the model. */
  model_name: string
  /** Version of the model, as its provider names it. */
  model_version: string
  /** Sampling temperature of the model. */
  model_temperature: number
  /** SHA-256 of the prompt, 64 lowercase hex digits; compared with `request_substance.prompt.hash`. */
  prompt_hash: string
  /** Kind of decision, such as `payment`. */
  decision_kind: string
  /** Its result, such as `approve`. */
  decision_result: string
  /** A sentence of explanation. */
  decision_note: string
}>

/** Tokens that the run used. Budgets count `total_tokens`; a cost without it counts as zero. */
export type Cost = Open<
  Optional<{
    /** Tokens of the prompt: an integer, at least 0. */
    input_tokens: number
    /** Tokens of the answer: an integer, at least 0. */
    output_tokens: number
    /** All tokens, which budgets count: an integer, at least 0. */
    total_tokens: number
    /** Not a member of a cost: the service calls it `total_tokens`, and would seal this one without counting it. */
    total_token: never
    /** Not a member of a cost: the service calls it `total_tokens`. */
    totalTokens: never
    /** Not a member of a cost: the service calls it `total_tokens`. */
    tokens: never
  }>
>

/** The named members of `request_substance`. */
export type SubstanceMembers = {
  /** The prompt, by its hash and the id of its template. */
  prompt: Open<
    Optional<{
      /** SHA-256 of the prompt, 64 lowercase hex digits; compared with `attested_context.prompt_hash`. */
      hash: string
      /** Name of the template that the prompt was made from. */
      template_id: string
    }>
  >
  /** The AI output, by its hash. */
  output: Open<
    Optional<{
      /** SHA-256 of the output, 64 lowercase hex digits; compared with that of `ai_output_text`. */
      hash: string
    }>
  >
  /** What was done to the output before it was used. */
  post_processing: readonly JsonInput[] | JsonInputObject
  /** Tokens used. */
  cost: Cost
  /** Milliseconds, or several of them by name. */
  latency: number | JsonInputObject
  /** Where the request came from. The service adds the hashes of address and agent, and the end user, itself and refuses them here. */
  origin: Open<{
    /** Computed by the service. */
    readonly source_ip_hash?: never
    /** Computed by the service. */
    readonly user_agent_hash?: never
    /** Named by the service, from the token that is given as `endUserToken`. */
    readonly end_user?: never
  }>
  /** How the caller's own user was authenticated. */
  authentication: JsonInputObject
}
/** The request and its answer: prompt, output, cost, latency. */
export type RequestSubstance = Open<Optional<SubstanceMembers>>

/** One approval. Approvers are sealed in the order of the list. */
export type Approver = Open<
  Optional<{
    /** Position in the chain of approvals, an integer; usually from 1. */
    order: number
    /** The person who approved. */
    actor_id: string
    /** Role of that person, such as `treasurer`. */
    actor_role: string
    /** When the person approved. */
    approved_at: TimeInput
    /** SHA-256 of the request that this person approved. */
    approved_request_hash: string
    /** Signature of the approver in the caller's own format; sealed, not verified. */
    signature: string
    /** A remark of the approver. */
    comment: string
  }>
>

/** A limit that the caller checked. */
export type ThresholdCheck = Open<
  Optional<{
    /** Name of the limit, such as `daily-limit`. */
    name: string
    /** The limit. */
    threshold_value: number | string
    /** The value that was compared with it. */
    observed_value: number | string
    /** Unit of both values, such as `EUR`. */
    unit: string
    /** The comparison that has to hold, such as `<=`. */
    operator: string
    /** Whether the limit was exceeded. */
    breached: boolean
  }>
>

/** The review by a person. */
export type HumanInLoop = Open<
  Optional<{
    /** Whether the caller's rules require a review. */
    required: boolean
    /** Whether there was one. */
    performed: boolean
    /** The person who reviewed. */
    performed_by: string
    /** When the person reviewed. */
    performed_at: TimeInput
    /** Kind of review, such as `full` or `sample`. */
    review_mode: string
    /** Its result, such as `approved`. */
    review_outcome: string
  }>
>

/** Approvals, limits and reviews that authorize the action. */
export type AuthorizationChain = Open<
  Optional<{
    /** Approvals, in their order. */
    approvers: readonly Approver[]
    /** Limits that were checked. */
    threshold_checks: readonly ThresholdCheck[]
    /** The review by a person. */
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
    /** Kind of effect, such as `funds_transfer`. */
    effect_kind: string
    /** The system that was changed. */
    target: string
    /** Its state, such as `acknowledged`. */
    status: string
    /** When it was started. */
    issued_at: TimeInput
    /** SHA-256 of the target's acknowledgement. */
    ack_hash: string
  }>
>

/** Effects of the run, and the runs that it continues. */
export type CausalGraph = Open<
  Optional<{
    /** Effects, in their order. */
    effect_log: readonly Effect[]
    /** The run that this one continues. */
    parent_run_id: number | string
    /** Several runs that this one continues. */
    parent_runs: readonly JsonInput[]
    /** Runs that have to do with this one. */
    related_runs: readonly JsonInput[]
  }>
>

export type RunIdentity = {
  /** SHA-256 of the program that acts, 64 lowercase hex digits: `hashFile` of the deployed package, or a container image's digest. */
  readonly program_id: string
  /** A name that you choose for the kind of work, such as `claims/triage`; 1 to 512 characters. */
  readonly route_id: string
  /** SHA-256 of the entry about the agent in your own register of agents or models, 64 lowercase hex digits. */
  readonly registry_record_hash: string
}

/** The text that the agent acts on. It may be empty. Runseal seals its hash and length and does not store it. */
export type RunPayload =
  | {
      /** Another name of `payload`, which is used when both are given. */
      readonly payload_text: string
      /** The text that the agent acts on. */
      readonly payload?: string | undefined
    }
  | {
      /** The text that the agent acts on. It may be empty. */
      readonly payload: string
      /** Another name of `payload`, which is used when both are given. */
      readonly payload_text?: string | undefined
    }

export type DeclaredMembers = {
  /** Who acted, with which model, and what was decided. */
  attested_context: AttestedContext
  /** The request and its answer: prompt, output, cost, latency. */
  request_substance: RequestSubstance
  /** Approvals, limits and reviews. */
  authorization_chain: AuthorizationChain
  /** Data classification and other regulatory facts. */
  regulatory_scaffolding: RegulatoryScaffolding
  /** Effects of the run, and the runs that it continues. */
  causal_graph: CausalGraph
  /** Runtime, dependencies, seeds, platform: any members. */
  reproducibility_context: JsonInputObject
  /** The AI's answer, for the governance review. Runseal seals its hash and length and does not store it. */
  ai_output_text: string
  /** The run is observed: what is decided is sealed, and the answer stops nothing. */
  enforcement: "observe"
}

/** A run: its identity, its payload, and what the caller declares about it. */
export type ExecuteRequest = RunIdentity & RunPayload & Optional<DeclaredMembers>
