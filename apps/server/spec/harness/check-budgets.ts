/** The budget tables: totals are the sums of their movements, which follow each other; documents show their own. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { BudgetWindow } from "@runseal/core/artifacts/sealed-sections"
import { type WindowKey, windowName } from "@runseal/core/seal/permits/windows"
import { expect } from "vitest"
import type { TokenMovementRow } from "../../src/store/tables/tenant-windows.ts"
import type { SealedPermits } from "./check-permits.ts"
import type { Tables } from "./read-tables.ts"

export function checkBudgets(
  { windows, movements }: Tables,
  bundles: readonly Bundle[],
  { openings, ends }: SealedPermits,
): void {
  const open = new Map(windows.map(window => [windowName(window), window]))
  expect(movements.filter(movement => !open.has(windowName(movement)))).toEqual([])
  for (const [name, window] of open) {
    const own = movements.filter(movement => windowName(movement) === name)
    checkSequence(own)
    expect(window.movements, `movements of ${name}`).toBe(own.length)
    expect(window.total, `total of ${name}`).toBe(own.at(-1)?.total_after ?? 0)
    expect(window.window_start % (window.window_seconds * 1000), "windows are aligned to the epoch").toBe(0)
  }
  const made = new Map(movements.map(movement => [placeOf(movement, movement.ordinal), movement]))
  for (const { sections } of bundles)
    if (sections.budget_snapshot?.window !== undefined)
      checkShown(sections.budget_snapshot.tenant_id, sections.budget_snapshot.window, made)
  for (const { tenant_id, reservation } of openings) checkShown(tenant_id, reservation, made)
  for (const { tenant_id, openings: ended } of ends)
    for (const end of ended) {
      const key = { tenant_id, window_seconds: end.window_seconds, window_start: Date.parse(end.window_start) }
      const { ordinal, total_after } = end
      const moved = "released" in end ? { kind: "release", tokens: 0 - end.released } : { kind: "settle", tokens: 0 }
      expect(made.get(placeOf(key, ordinal))).toMatchObject({ ...moved, total_after })
    }
}

const placeOf = (window: WindowKey, ordinal: number): string => `${windowName(window)} ${ordinal}`

/** Each movement starts where the one before it ended, and no number is missing. */
function checkSequence(movements: readonly TokenMovementRow[]): void {
  let total = 0
  for (const [at, { charge_id, ordinal, tokens, total_after }] of movements.entries()) {
    total += tokens
    expect({ charge_id, ordinal, total_after }).toEqual({ charge_id, ordinal: at + 1, total_after: total })
  }
}

/** A document shows its movement as the ledger has it. */
function checkShown(
  tenant_id: string,
  { charge_id, tokens, reserved, ordinal, total_after, window_seconds, window_start }: BudgetWindow,
  made: ReadonlyMap<string, TokenMovementRow>,
): void {
  // A refused reservation moved nothing.
  if (ordinal === undefined) return
  const movement = made.get(placeOf({ tenant_id, window_seconds, window_start: Date.parse(window_start) }, ordinal))
  const moved = reserved === undefined ? tokens : tokens - reserved
  expect(movement).toMatchObject({ charge_id, tokens: moved, total_after })
}
