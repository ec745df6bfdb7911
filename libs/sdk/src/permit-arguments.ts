/** The arguments of permits, typed for a caller. docs/api.md, "Permits". */
import type { ActFailureCode } from "@runseal/core/artifacts/permit-sections"
import type {
  CausalGraph,
  DeclaredMembers,
  JsonInputObject,
  Open,
  Optional,
  RunIdentity,
  RunPayload,
  SubstanceMembers,
} from "./execute-arguments.ts"

/** What is declared before the act: everything but its cost and its output. */
type DeclaredBefore = Omit<DeclaredMembers, "ai_output_text" | "request_substance"> & {
  /** The request, and what of its answer is known before the act. */
  request_substance: Open<
    Optional<Omit<SubstanceMembers, "cost">> & {
      /** Known only after the act: a member of the close. */
      readonly cost?: never
    }
  >
}

/** An act that a permit is asked for: a run without its output and cost, and how the permit may be used. */
export type PermitRequest = RunIdentity &
  RunPayload &
  Optional<DeclaredBefore> & {
    /** Tokens that the act may use, reserved until it is closed: an integer, at least 0. */
    readonly reserve_tokens: number
    /** The name of the one who is to act, as that one knows itself: one line of 1 to 256 characters. */
    readonly audience: string
    /** Seconds for which the act is permitted: 1 to 3600, 300 when absent; up to 86400 with `redeem_required`. */
    readonly valid_for_seconds?: number | undefined
    /** Seconds after that within which the permit is closed: 120 to 86400, 300 when absent. */
    readonly close_within_seconds?: number | undefined
    /** True: the one who acts redeems the permit first, which succeeds once. */
    readonly redeem_required?: boolean | undefined
    /** Known only after the act: a member of the close. */
    readonly ai_output_text?: never
  }

/** What is declared after the act. Nothing that the opening declared can be declared again. */
type DeclaredAfter = {
  /** The answer: its hash, what was done to it, cost and latency. */
  request_substance: Optional<Pick<SubstanceMembers, "output" | "post_processing" | "cost" | "latency">>
  /** Effects of the act. */
  causal_graph: CausalGraph
  /** Runtime, seeds, platform: any members. */
  reproducibility_context: JsonInputObject
  /** The AI's answer, for the governance review. Runseal seals its hash and length and does not store it. */
  ai_output_text: string
}

/** What became of an act. */
export type PermitClosing = Optional<DeclaredAfter> &
  (
    | { readonly outcome: "completed"; readonly code?: undefined }
    | {
        readonly outcome: "failed"
        /** Why: it was not tried, the one who was to act refused or failed, or nobody knows in time. */
        readonly code: ActFailureCode
      }
  )
