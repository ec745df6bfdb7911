/** A parsed and validated request: the only input of the pipeline besides its Moment. */
import type { JsonObject } from "@runseal/canonical"
import type { DeclaredName, Origin } from "@runseal/core/artifacts/declared-sections"
import type { EndUser } from "@runseal/core/artifacts/end-user"
import type { Enforcement } from "@runseal/core/vocabulary/scalars"

/** Whose run it is. Anonymous callers of open mode are tenant `anonymous`, key 0. */
export type Tenant = {
  readonly tenant_id: string
  /** api_key_id; 0 is the anonymous caller. */
  readonly owner: number
}

/** What the caller's body says of the run. */
export type SubmittedRun = {
  readonly program_id: string
  readonly route_id: string
  readonly registry_record_hash: string
  /** The raw text lives only as long as the run is in the pipeline. */
  readonly payload: string
  readonly ai_output_text?: string
  /** Sections as received; a section that was not sent is an absent key. */
  readonly declared: Readonly<Partial<Record<DeclaredName, JsonObject>>>
  readonly declared_tokens: number
  /** The caller asks for a run that is observed and not enforced. */
  readonly enforcement?: Enforcement
}

export type Submission = SubmittedRun & {
  readonly tenant: Tenant
  readonly origin: Origin
  /** Of a request that came with a token of the identity provider, which was verified. */
  readonly end_user?: EndUser
  /** Budgets of the caller's key, in place of the deployment's. */
  readonly budgets?: { readonly run_tokens?: number; readonly window_tokens?: number }
}
