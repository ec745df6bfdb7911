/**
 * The first line of `GET /runs/export`: the service's anchored statement of what the lines after it are. It verifies by itself,
 * and with the records after it proves that they are complete. docs/formats.md sections 7.7 and 13.
 */

import { transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import * as v from "valibot"
import {
  clockSchema,
  countSchema,
  DEPLOYMENT_TENANT,
  ordinalSchema,
  type Shape,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import { EXPORT_KIND } from "../vocabulary/versions.ts"
import type { Anchor, ExportStatementLeaf } from "./anchor.ts"
import { exportStatementLeafSchema } from "./anchor.ts"

/** Budget windows that one statement lists: the newest of those that the piece's time touches. */
export const EXPORT_WINDOWS_MAX = 4096

const exportedWindow = v.strictObject({
  window_seconds: ordinalSchema,
  window_start: clockSchema,
  /** Movements of the window, as of the statement's log entry. */
  last_ordinal: ordinalSchema,
  /** Tokens in the window after the last of them. */
  total: countSchema,
})
export type ExportedWindow = Shape<typeof exportedWindow>

export const exportStatementSchema = v.strictObject({
  kind: v.literal(EXPORT_KIND),
  /** Tenant and salt open the leaf's `tenant_commitment`. */
  tenant_id: v.union([tenantIdSchema, v.literal(DEPLOYMENT_TENANT)]),
  tenant_salt: sha256Schema,
  /** By rising start, then by rising length. */
  windows: v.pipe(v.array(exportedWindow), v.maxLength(EXPORT_WINDOWS_MAX)),
  leaf: exportStatementLeafSchema,
  entry: transparencyLogEntrySchema,
})
export type ExportStatement = Shape<typeof exportStatementSchema>

/** The statement of an anchored leaf. */
export const exportStatement = (
  tenant: Pick<ExportStatement, "tenant_id" | "tenant_salt">,
  windows: readonly ExportedWindow[],
  { leaf, entry }: Anchor<ExportStatementLeaf>,
): ExportStatement => ({ kind: EXPORT_KIND, ...tenant, windows, leaf, entry })

/** The exported piece of a chain. */
export type ChainPiece = Required<
  Pick<ExportStatementLeaf, "first_ordinal" | "last_ordinal" | "previous_record" | "last_record">
>

/** The piece that a leaf speaks of; undefined when no document is in it. */
export function chainPiece(leaf: ExportStatementLeaf): ChainPiece | undefined {
  const { first_ordinal, last_ordinal, previous_record, last_record } = leaf
  if (first_ordinal === undefined || last_ordinal === undefined) return undefined
  if (previous_record === undefined || last_record === undefined) return undefined
  return { first_ordinal, last_ordinal, previous_record, last_record }
}

/** Whether a leaf speaks of the whole chain, from its first document to its end. */
export function isWholeChain(leaf: ExportStatementLeaf): boolean {
  const piece = chainPiece(leaf)
  return leaf.head_ordinal === 0 || (piece?.first_ordinal === 1 && piece.last_ordinal === leaf.head_ordinal)
}
