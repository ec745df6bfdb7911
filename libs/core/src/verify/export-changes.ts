/** What an operator may change from one record of a chain to the next: settings. A reader is told of it, and nothing fails. */
import type { Bundle } from "../artifacts/bundle.ts"

export type Changes = {
  /** What is another than in the records before, in sentences' ends. */
  readonly take: (bundle: Bundle) => readonly string[]
}

/** The settings that a record shows, by their names. */
function settingsOf({
  sections,
  attestation_gap_receipt,
}: Bundle): readonly (readonly [string, number | string | undefined])[] {
  const { policy_evaluation, budget_snapshot: budget } = sections
  const { window } = budget ?? {}
  return [
    ["policy", policy_evaluation?.policy_hash ?? attestation_gap_receipt?.policy_hash],
    ["signature library", policy_evaluation?.signature_library_hash],
    ["limit of tokens a run", budget?.run_limit],
    ["seconds of a budget window", window?.window_seconds],
    ["cap of tokens a window", window?.cap],
  ]
}

export function tellChanges(): Changes {
  const known = new Map<string, number | string>()
  return {
    take: bundle =>
      settingsOf(bundle).flatMap(([name, value]) => {
        if (value === undefined) return []
        const before = known.get(name)
        known.set(name, value)
        return before === undefined || before === value ? [] : [`the ${name} changed from ${before} to ${value}`]
      }),
  }
}
