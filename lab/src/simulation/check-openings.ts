/** The permits after a simulation: every opening has exactly one end, and documents, rows and chains say the same of it. */
import assert from "node:assert/strict"
import type { ExportStatement } from "@runseal/core/artifacts/export-statement"
import type { Opening } from "@runseal/core/artifacts/opening"
import { type PermitEnd, redemptionOf } from "@runseal/core/artifacts/permit-end"
import type { ChainDocument } from "@runseal/core/verify/chain-document"
import { compareDocuments } from "@runseal/core/verify/export-contradictions"
import { VERDICTS } from "@runseal/core/verify/report"
import { type DocumentRow, document as documents } from "@runseal/server/store/tables/documents-table"
import { type PermitRow, permit } from "@runseal/server/store/tables/permits-table"
import type { TenantWindowRow } from "@runseal/server/store/tables/tenant-windows"
import { getTableName } from "drizzle-orm"
import type { Judge, Sealed } from "./check.ts"
import { decoded, type Row, type Snapshot } from "./database/simulated-rows.ts"

/** A row of a list with the row of its document. */
export type WithDocument<Row> = { readonly row: Row; readonly stored: DocumentRow }

export type SealedPermits = {
  readonly openings: readonly (WithDocument<PermitRow> & { readonly document: Opening })[]
  readonly ends: readonly { readonly stored: DocumentRow; readonly document: PermitEnd }[]
}

/** The rows of a list, each with its document. @throws AssertionError when one has none, or one of another kind */
export function withDocuments<Listed extends Pick<DocumentRow, "log_index">>(
  state: Snapshot,
  kind: DocumentRow["kind"],
  rows: readonly Listed[],
): readonly WithDocument<Listed>[] {
  const stored = new Map(decoded<DocumentRow>(state, documents).map(row => [row.log_index, row]))
  return rows.map(row => {
    const found = stored.get(row.log_index)
    assert.ok(found?.kind === kind, `the ${kind} at ${row.log_index} has its document`)
    return { row, stored: found }
  })
}

/** Reads and judges openings and ends. */
export function sealedPermits(state: Snapshot, judge: Judge): SealedPermits {
  const opened = withDocuments(state, "opening", decoded<PermitRow>(state, permit, isOpened))
  const openings = opened.map(({ row, stored }) => {
    judge(stored.packed, VERDICTS.opening)
    const document: Opening = JSON.parse(stored.packed)
    return { row, stored, document }
  })
  const ends = decoded<DocumentRow>(state, documents, ({ kind }) => kind === "permit_end").map(stored => {
    judge(stored.packed, VERDICTS.permit_end)
    const document: PermitEnd = JSON.parse(stored.packed)
    return { stored, document }
  })
  return { openings, ends }
}

/** A refused permit has no opening. */
const isOpened = ({ state }: Row): boolean => state !== "refused"

/** @throws AssertionError when a permit has no end, more than one, or another than its row says */
export function checkPermits(state: Snapshot, { runs, openings, ends }: Sealed): void {
  const permits = [...(state.get(getTableName(permit))?.values() ?? [])]
  for (const owner of new Set(permits.map(row => row.owner))) {
    const ordinals = permits.filter(row => row.owner === owner).map(row => Number(row.owner_ordinal))
    assert.deepEqual(
      ordinals.sort((a, b) => a - b),
      ordinals.map((_, at) => at + 1),
      `the permits of ${owner} have no gap`,
    )
  }
  const refused = permits.filter(row => !isOpened(row))
  assert.ok(
    refused.every(({ run_id }) => runs.some(({ row }) => row.run_id === run_id && row.outcome_kind !== "ok")),
    "a refused permit is a refused run",
  )
  const closes = runs.filter(({ row }) => row.permit_id !== "")
  for (const { row, stored, document } of openings) {
    const { permit_id } = document
    assert.deepEqual(
      [row.permit_id, row.charge_id, row.reserved, stored.chain_ordinal],
      [permit_id, document.reservation.charge_id, document.reservation.tokens, document.leaf.tenant_ordinal],
    )
    const closed = closes.filter(close => close.row.permit_id === permit_id)
    const ended = ends.filter(end => end.document.openings.some(opening => opening.permit_id === permit_id))
    assert.equal(closed.length + ended.length, 1, `permit ${row.owner_ordinal} of ${row.owner} has one end`)
    assert.deepEqual(
      [row.state, row.run_id, row.end_ordinal],
      closed[0] === undefined ? ["ended", 0, ended[0]?.stored.chain_ordinal] : ["closed", closed[0].row.run_id, 0],
    )
    const end = ended[0]?.document.openings.find(opening => opening.permit_id === permit_id)
    const redemption = closed[0]?.bundle.sections.permit?.redemption ?? (end && redemptionOf(end))
    assert.equal(redemption !== undefined, row.redeemed_at > 0, "what closes or ends a permit has its redemption")
    if (redemption !== undefined)
      assert.equal(Date.parse(redemption.redeemed_clock), row.redeemed_at, "at the time that was answered")
  }
  const known = new Set(openings.map(({ row }) => row.permit_id))
  assert.ok(
    closes.every(({ row }) => known.has(row.permit_id)),
    "every close has its opening",
  )
}

/** What `--complete` would find wrong with the documents of a tenant's chain. */
export function contradictions(
  chain: readonly ChainDocument[],
  windows: readonly TenantWindowRow[],
  logSize: number,
): readonly string[] {
  const last = chain.at(-1)
  const entry = last?.anchor?.entry
  if (entry === undefined) return []
  const statement: Pick<ExportStatement, "entry" | "windows"> = {
    // It is logged behind everything.
    entry: { ...entry, logIndex: `${logSize}` },
    windows: windows.map(({ window_seconds, window_start, movements, total }) => ({
      window_seconds,
      window_start: new Date(window_start).toISOString(),
      last_ordinal: movements,
      total,
    })),
  }
  const comparison = compareDocuments(statement, 1, false)
  const found = chain.flatMap((document, at) => comparison.take(document, at + 1, document.long).problems)
  return [...found, ...comparison.end(true)]
}
