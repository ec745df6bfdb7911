/** The budget tables: totals are the sums of their charges, charges follow each other, records show their own. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { expect } from "vitest"
import type { TenantWindowRow, TokenChargeRow } from "../../src/store/tables/tenant-windows.ts"
import type { Tables } from "./read-tables.ts"

const windowOf = ({ tenant_id, window_seconds, window_start }: Omit<TenantWindowRow, "total">): string =>
  `${tenant_id} ${window_seconds} ${window_start}`

export function checkBudgets({ windows, charges }: Tables, bundles: readonly Bundle[]): void {
  const open = new Map(windows.map(window => [windowOf(window), window]))
  expect(charges.filter(charge => !open.has(windowOf(charge)))).toEqual([])
  for (const [name, window] of open) {
    const own = charges.filter(charge => windowOf(charge) === name)
    checkSequence(own)
    expect(window.total, `total of ${name}`).toBe(own.reduce((sum, charge) => sum + charge.tokens, 0))
    expect(window.window_start % (window.window_seconds * 1000), "windows are aligned to the epoch").toBe(0)
  }
  const made = new Map(charges.map(charge => [charge.charge_id, charge]))
  for (const bundle of bundles) checkSnapshot(bundle, made)
}

/** In the order of their totals each charge starts where the one before ended; only empty ones share a total. */
function checkSequence(charges: readonly TokenChargeRow[]): void {
  let total = 0
  const inOrder = charges.toSorted((a, b) => a.total_after - b.total_after || b.tokens - a.tokens)
  for (const { charge_id, tokens, total_after } of inOrder) {
    total += tokens
    expect({ charge_id, total_after }).toEqual({ charge_id, total_after: total })
  }
}

/** A record that passed CCV shows its charge as the ledger has it. */
function checkSnapshot({ sections }: Bundle, made: ReadonlyMap<string, TokenChargeRow>): void {
  const { budget_snapshot: snapshot } = sections
  if (snapshot?.window === undefined) return
  const { charge_id, tokens, total_after, window_seconds, window_start } = snapshot.window
  expect(made.get(charge_id)).toMatchObject({
    tenant_id: snapshot.tenant_id,
    tokens,
    total_after,
    window_seconds,
    window_start: Date.parse(window_start),
  })
}
