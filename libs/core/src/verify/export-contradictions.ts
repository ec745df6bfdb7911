/**
 * What the records of a chain say of each other. Each may verify by itself, and an operator who holds every key can still make a chain
 * that contradicts itself: the order of its entries, identifiers that stand twice, charges that do not fit together.
 */
import type { Bundle } from "../artifacts/bundle-schema.ts"
import type { ExportStatement } from "../artifacts/export-statement.ts"
import { rememberIdentifiers } from "./export-identifiers.ts"
import { holdOrder } from "./export-order.ts"
import { rememberPolicies } from "./export-policies.ts"
import { rememberWindows } from "./export-windows.ts"

/** What is wrong with a record beside those before it, and what a reader is told of it, in sentences' ends. */
export type Compared = { readonly problems: readonly string[]; readonly notes: readonly string[] }

type Comparison = {
  /** Compares the next record, which verifies by itself. @param name of it */
  readonly take: (bundle: Bundle, ordinal: number, name: string) => Compared
}

/**
 * @param statement that counts the records, for its place in the log
 * @param first ordinal of the first record that may be taken
 */
export function compareRecords(statement: Pick<ExportStatement, "entry">, first: number): Comparison {
  const order = holdOrder(statement)
  const identifiers = rememberIdentifiers()
  const windows = rememberWindows()
  const policies = rememberPolicies()
  const changes = tellChanges()
  const nameOf = (place: number): string => `record ${first + place}`
  return {
    take: (bundle, ordinal, name) => {
      const place = ordinal - first
      const logTime = Number(bundle.anchors.complete_record?.entry.integratedTime)
      return {
        problems: [
          ...order.take(bundle, name),
          ...identifiers.take(bundle, place, nameOf),
          ...windows.take(bundle, logTime, place, nameOf),
          ...policies.take(bundle, name),
        ],
        notes: changes.take(bundle),
      }
    },
  }
}

/** What an operator may change from one record of a chain to the next: settings. A reader is told of it, and nothing fails. */
type Changes = {
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

function tellChanges(): Changes {
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
