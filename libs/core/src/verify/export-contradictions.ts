/**
 * Compares the records of a chain with each other. Each may verify by itself, and an operator who holds every key can still make a chain
 * that contradicts itself: entries out of order, an identifier in two records, charges that do not fit together.
 */
import type { Bundle } from "../artifacts/bundle-schema.ts"
import type { ExportStatement } from "../artifacts/export-statement.ts"
import { createIdentifierCheck } from "./export-identifiers.ts"
import { createOrderCheck } from "./export-order.ts"
import { createPolicyCheck } from "./export-policies.ts"
import { createWindowCheck } from "./export-windows.ts"

/** What is wrong with a record beside those before it, and what a reader may want to know: ends of sentences. */
export type Compared = { readonly problems: readonly string[]; readonly notes: readonly string[] }

type Comparison = {
  /** Compares the next record, which verifies by itself. @param name of it */
  readonly take: (bundle: Bundle, ordinal: number, name: string) => Compared
}

/**
 * @param statement that counts the records, for its position in the log
 * @param first ordinal of the first record that may be taken
 */
export function compareRecords(statement: Pick<ExportStatement, "entry">, first: number): Comparison {
  const order = createOrderCheck(statement)
  const identifiers = createIdentifierCheck()
  const windows = createWindowCheck()
  const policies = createPolicyCheck()
  const settings = new Map<string, number | string>()
  const nameOf = (place: number): string => `record ${first + place}`
  return {
    take: (bundle, ordinal, name) => {
      const place = ordinal - first
      const logTime = Number(bundle.anchors.complete_record?.entry.integratedTime)
      return {
        problems: [
          ...order(bundle, name),
          ...identifiers(bundle, place, nameOf),
          ...windows(bundle, logTime, place, nameOf),
          ...policies(bundle, name),
        ],
        notes: changesOf(bundle, settings),
      }
    },
  }
}

/** Settings that an operator may change from one record of a chain to the next. A change is reported, and nothing fails. */
const changesOf = (bundle: Bundle, settings: Map<string, number | string>): readonly string[] =>
  settingsOf(bundle).flatMap(([name, value]) => {
    if (value === undefined) return []
    const before = settings.get(name)
    settings.set(name, value)
    return before === undefined || before === value ? [] : [`the ${name} changed from ${before} to ${value}`]
  })

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
