/**
 * Adds the entries in outside logs to the anchors of a bundle when it is read. They arrive after the record is sealed, and the stored text
 * of a record is never changed.
 */
import { canonicalize, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import type { OutsideAnchors, OutsideEntry } from "@runseal/core/artifacts/anchor"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { reduce } from "@runseal/core/derivation/derive"
import { bundleAnchors } from "@runseal/core/verify/bundle"
import { bundleOf } from "@runseal/core/verify/document"
import { outsideAnchors } from "@runseal/core/verify/outside"
import { tiledLogEntrySchema, transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import type { Database } from "../../store/driver/database.ts"
import { StoreError } from "../../store/driver/store-errors.ts"
import { type OutsideEntryRow, readOutside } from "../../store/tables/outside-log-table.ts"

/** The texts of bundles with their anchors in outside logs added; a text without such anchors, or that is no bundle, is unchanged. */
export type ShowOutside = (texts: readonly string[]) => Promise<readonly string[]>

/** For a database without outside logs: changes nothing. */
export const showNothing: ShowOutside = async texts => texts

export const showOutside =
  (db: Database): ShowOutside =>
  async texts => {
    const bundles = texts.map(bundleIn)
    const indices = bundles.flatMap(bundle => (bundle === undefined ? [] : indicesOf(bundle)))
    if (indices.length === 0) return texts
    const rows = await readOutside(db, indices)
    return texts.map((text, at) => {
      const bundle = bundles[at]
      const outside = bundle === undefined ? [] : anchorsOf(bundle, rows)
      return bundle === undefined || outside.length === 0
        ? text
        : canonicalize(reduce({ ...bundle, anchors: { ...bundle.anchors, outside } }))
    })
  }

/** Undefined for a stored text that is no bundle, because the database was tampered with: it is returned as it is, and does not verify. */
export function bundleIn(text: string): Bundle | undefined {
  try {
    return bundleOf(text)
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined
    throw error
  }
}

const indicesOf = (bundle: Bundle): readonly number[] =>
  bundleAnchors(bundle).map(({ anchor }) => Number(anchor.entry.logIndex))

function anchorsOf(bundle: Bundle, rows: readonly OutsideEntryRow[]): readonly OutsideAnchors[] {
  const logs = [...new Set(rows.map(({ log_id }) => log_id))]
  return logs.flatMap(logId => {
    const anchors = outsideAnchors(bundle, ({ entry: { logIndex } }) => {
      const row = rows.find(({ log_id, log_index }) => log_id === logId && `${log_index}` === logIndex)
      return row && entryIn(row)
    })
    return Object.keys(anchors).length === 0 ? [] : [anchors]
  })
}

/** @throws StoreError "corrupt" */
function entryIn({ entry, timestamp }: OutsideEntryRow): OutsideEntry {
  const value = parseStrictJson(entry)
  if (timestamp === "") {
    const parsed = parseExact(transparencyLogEntrySchema, value)
    if (!parsed.ok) throw new StoreError("corrupt")
    return { entry: parsed.value }
  }
  const parsed = parseExact(tiledLogEntrySchema, value)
  if (!parsed.ok) throw new StoreError("corrupt")
  return { entry: parsed.value, timestamp }
}
