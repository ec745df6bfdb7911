/** The budgets after a simulation, recomputed from their movements, and beside what documents show of them. */
import assert from "node:assert/strict"
import type { BudgetWindow } from "@runseal/core/artifacts/sealed-sections"
import { type WindowKey, windowName } from "@runseal/core/seal/permits/windows"
import {
  type TenantWindowRow,
  type TokenMovementRow,
  tenant_window,
  token_movement,
} from "@runseal/server/store/tables/tenant-windows"
import type { Sealed } from "./check.ts"
import { decoded, type Snapshot } from "./database/simulated-rows.ts"

/**
 * Totals are the sums of their movements, each movement starts where the one before it ended, documents show their own, and neither a
 * completed run nor an opening is at its cap or beyond.
 */
export function checkBudgets(state: Snapshot, sealed: Sealed): void {
  const movements = decoded<TokenMovementRow>(state, token_movement)
  checkTotals(decoded<TenantWindowRow>(state, tenant_window), movements)
  checkShown(movements, sealed)
}

function checkTotals(windows: readonly TenantWindowRow[], movements: readonly TokenMovementRow[]): void {
  const open = new Set(windows.map(windowName))
  assert.ok(
    movements.every(movement => open.has(windowName(movement))),
    "every movement has its window",
  )
  for (const window of windows) {
    let total = 0
    const own = movements.filter(movement => windowName(movement) === windowName(window))
    for (const [at, { ordinal, tokens, total_after }] of own.toSorted((a, b) => a.ordinal - b.ordinal).entries()) {
      total += tokens
      assert.deepEqual([ordinal, total_after], [at + 1, total], `movements of ${windowName(window)} follow each other`)
    }
    assert.deepEqual(
      [window.total, window.movements],
      [total, own.length],
      `the total of ${windowName(window)} is that of its movements`,
    )
  }
}

function checkShown(movements: readonly TokenMovementRow[], { runs, openings, ends }: Sealed): void {
  const made = new Map(movements.map(movement => [placeOf(movement, movement.ordinal), movement]))
  const shown = new Set<string>()
  const find = (key: WindowKey, ordinal: number): TokenMovementRow | undefined => {
    const place = placeOf(key, ordinal)
    assert.ok(!shown.has(place), "a movement stands for one document")
    shown.add(place)
    return made.get(place)
  }
  const check = (tenant_id: string, window: BudgetWindow): void => {
    // A refused reservation moved nothing.
    if (window.ordinal === undefined) return
    const { window_seconds, tokens, reserved } = window
    const found = find({ tenant_id, window_seconds, window_start: Date.parse(window.window_start) }, window.ordinal)
    assert.deepEqual(
      [found?.charge_id, found?.tokens, found?.total_after],
      [window.charge_id, reserved === undefined ? tokens : tokens - reserved, window.total_after],
      "a record shows its charge",
    )
  }
  for (const { bundle } of runs) {
    const { window, tenant_id } = bundle.sections.budget_snapshot ?? {}
    if (window === undefined || tenant_id === undefined) continue
    check(tenant_id, window)
    const isFull =
      window.total_after >= window.cap && (window.reserved === undefined || window.tokens > window.reserved)
    if (bundle.run.outcome_kind === "macc_halt" || bundle.run.outcome_kind === "ok")
      assert.equal(bundle.run.outcome_kind === "macc_halt", isFull, "no budget is overspent")
  }
  for (const { document } of openings) {
    check(document.tenant_id, document.reservation)
    assert.ok(document.reservation.total_after < document.reservation.cap, "no opening is at its cap")
  }
  for (const { document } of ends)
    for (const ended of document.openings) {
      const { window_seconds, window_start, ordinal, total_after } = ended
      const found = find(
        { tenant_id: document.tenant_id, window_seconds, window_start: Date.parse(window_start) },
        ordinal,
      )
      assert.deepEqual(
        [found?.kind, found?.tokens, found?.total_after],
        "released" in ended ? ["release", 0 - ended.released, total_after] : ["settle", 0, total_after],
      )
    }
}

const placeOf = (window: WindowKey, ordinal: number): string => `${windowName(window)} ${ordinal}`
