/** Outcomes as the console names and colours them, on the server and in islands alike. */
import type { NewsTone } from "@runseal/core/presentation/account"
import { OUTCOMES, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"

/** Short names, for lists and charts. The whole sentence is in `OUTCOMES`. */
export const OUTCOME_NAMES: Readonly<Record<OutcomeKind, string>> = {
  ok: "Passed",
  pepg_deny: "Denied",
  ccv_halt: "Run budget",
  macc_halt: "Window budget",
  aivp_t4_halt: "Review",
  attestation_gap: "Not attested",
  stage_error: "Failed",
}

const TONES = { attestation: "good", refusal: "warn", diagnosis: "bad" } as const satisfies Record<string, NewsTone>

export const toneOf = (kind: OutcomeKind): NewsTone => TONES[OUTCOMES[kind].words.standing]

/** What a list says of a run beside its outcome, which alone would say too much. */
export function marksOf(run: {
  readonly enforcement?: unknown
  readonly closing_outcome?: unknown
}): readonly { readonly text: string; readonly tone: "info" | "bad" }[] {
  return [
    ...(run.enforcement === undefined ? [] : [{ text: "only observed", tone: "info" } as const]),
    ...(run.closing_outcome === "failed" ? [{ text: "act failed", tone: "bad" } as const] : []),
  ]
}

/** The sign before an outcome, so that colour is not the only difference. */
export const SIGNS: Readonly<Record<NewsTone, string>> = { good: "✓", warn: "■", bad: "✗" }
