/**
 * What the records of a chain say of each other. Each may verify by itself, and an operator who holds every key can still make a chain
 * that contradicts itself: the order of its entries, identifiers that stand twice, charges that do not fit together.
 */
import type { Bundle } from "../artifacts/bundle.ts"
import type { ExportStatement } from "../artifacts/export-statement.ts"
import { tellChanges } from "./export-changes.ts"
import { rememberIdentifiers } from "./export-identifiers.ts"
import { holdOrder } from "./export-order.ts"
import { rememberPolicies } from "./export-policies.ts"
import { rememberWindows } from "./export-windows.ts"

/** What is wrong with a record beside those before it, and what a reader is told of it, in sentences' ends. */
export type Compared = { readonly problems: readonly string[]; readonly notes: readonly string[] }

export type Comparison = {
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
