/** The statement at the head of an export, on its way into the log. docs/formats.md section 7.7. */
import { canonicalize } from "@runseal/canonical"
import type { ExportStatementLeaf } from "@runseal/core/artifacts/anchor"
import {
  type ChainPiece,
  type ExportedWindow,
  type ExportStatement,
  exportStatement,
} from "@runseal/core/artifacts/export-statement"
import { tenantCommitment } from "@runseal/core/formulas/decision"
import { exportStatementLeaf, leafBytes } from "@runseal/core/formulas/leaves"
import { windowsHash } from "@runseal/core/formulas/permit"
import { type TenantHead, tenantOf } from "@runseal/core/seal/tenant-chain"
import { VERDICTS } from "@runseal/core/verify/report"
import { ZERO_HASH } from "@runseal/core/vocabulary/scalars"
import type { Tenant } from "@runseal/core/wire/submission"
import type { Source, Tx } from "../store/driver/session.ts"
import {
  type AdmittedRange,
  countOpen,
  countPiece,
  findSpan,
  type PieceCounts,
  readLeafDigest,
  readTouchedWindows,
  type WindowTotal,
} from "../store/tables/export-reads.ts"
import { readRecordCount } from "../store/tables/tenants.ts"
import { type Item, type ItemPart, leafed, type Round, withoutLeaf } from "./batch.ts"

/** A piece of a chain, and how many of its documents are openings and ends. */
type CountedPiece = ChainPiece & PieceCounts

/** An export request, with what was read of the chain before the batch locks it. */
export type ExportDraft = {
  readonly tenant: Tenant
  /** RFC 3339; the time of the request. */
  readonly export_clock: string
  readonly range: AdmittedRange
  /** How many documents of the chain were read. */
  readonly seen: number
  /** The requested piece of them. */
  readonly piece?: CountedPiece
}

/** A statement that is not in the log yet. */
type StatementDraft = Pick<ExportStatement, "tenant_id" | "tenant_salt" | "windows" | "leaf">

export type SealedStatement = {
  readonly document: ExportStatement
  /** The document's canonical text, as it is sent. */
  readonly text: string
}

/** Reads the chain as it is now; `exportItem` reads the documents that are sealed in between. */
export const draftExport = (
  source: Source,
  tenant: Tenant,
  export_clock: string,
  range: AdmittedRange,
): Promise<ExportDraft> =>
  source.read(async session => {
    const seen = await readRecordCount(session, tenant.tenant_id)
    const span = await findSpan(session, tenant.owner, range, { first: 1, last: seen })
    const draft = { tenant, export_clock, range, seen }
    if (span === undefined) return draft
    const previous_record = await predecessorOf(session, tenant.owner, span.first)
    const last_record = await readLeafDigest(session, tenant.owner, span.last)
    const counts = await countPiece(session, tenant.owner, span)
    const piece = { first_ordinal: span.first, last_ordinal: span.last, previous_record, last_record, ...counts }
    return { ...draft, piece }
  })

/**
 * The statement of an export, of the chain behind the batch's locks.
 * @param answer called with it once it is in the log
 */
export const exportItem = (draft: ExportDraft, answer: (statement: SealedStatement) => void): Item => ({
  kind: "export",
  charge_id: "",
  bytes: 0,
  locks: { tenant: draft.tenant },
  read: async (tx, tenants) => {
    const statement = await stateExport(tx, draft, tenantOf(tenants, draft.tenant.tenant_id))
    return round => statementPart(statement, round, answer)
  },
})

const statementPart = (
  { tenant_id, tenant_salt, windows, leaf }: StatementDraft,
  round: Round,
  answer: (statement: SealedStatement) => void,
): ItemPart => ({
  place: "statement",
  before: () =>
    leafed(
      round,
      { leaf, bytes: leafBytes(leaf) },
      appended => () =>
        withoutLeaf(() => {
          const document = exportStatement({ tenant_id, tenant_salt }, windows, round.anchor(appended))
          const text = canonicalize(document)
          return {
            document: { text, verdict: VERDICTS.export_statement, pack: false },
            seal: () => ({ rows: {}, record_id: "", counted: [], acknowledge: () => answer({ document, text }) }),
          }
        }),
    ),
})

/**
 * The statement of an export as of a transaction that has locked the log's head and the tenant's chain.
 * @param head of the chain
 */
export async function stateExport(tx: Tx, draft: ExportDraft, head: TenantHead): Promise<StatementDraft> {
  const { tenant_id, salt: tenant_salt, record_count: head_ordinal } = head
  const piece = head_ordinal === draft.seen ? draft.piece : await extended(tx, draft, head)
  const { events = 0, openings = 0, ends = 0, requests = 0, ...span } = piece ?? NO_PIECE
  const { first_ordinal = 1, last_ordinal = 0 } = span
  const windows = (await readTouchedWindows(tx, tenant_id, draft.range)).map(exportedWindow)
  const leaf: ExportStatementLeaf = exportStatementLeaf({
    tenant_commitment: tenantCommitment(tenant_id, tenant_salt),
    export_clock: draft.export_clock,
    head_ordinal,
    head: head.head,
    open_permits: await countOpen(tx, draft.tenant.owner),
    windows_hash: windowsHash(windows),
    ...clocksOf(draft.range),
    ...span,
    records: last_ordinal - first_ordinal + 1 - openings - ends - events - requests,
    openings,
    ends,
    ...(requests === 0 ? {} : { requests }),
    ...(events === 0 ? {} : { events }),
  })
  return { tenant_id, tenant_salt, windows, leaf }
}

const NO_PIECE: Partial<CountedPiece> = {}

const exportedWindow = ({ window_seconds, window_start, movements, total }: WindowTotal): ExportedWindow => ({
  window_seconds,
  window_start: new Date(window_start).toISOString(),
  last_ordinal: movements,
  total,
})

/** A statement gives the requested range, both ends included. */
const clocksOf = ({ from_ms, to_ms }: AdmittedRange): Pick<ExportStatementLeaf, "from" | "to"> => ({
  ...(from_ms === undefined ? {} : { from: new Date(from_ms).toISOString() }),
  ...(to_ms === undefined ? {} : { to: new Date(to_ms - 1).toISOString() }),
})

/** The piece with the documents that were sealed since the draft: few, at the end of the chain. */
async function extended(tx: Tx, draft: ExportDraft, head: TenantHead): Promise<CountedPiece | undefined> {
  const { piece, range, seen } = draft
  const { owner } = draft.tenant
  const late = await findSpan(tx, owner, range, { first: seen + 1, last: head.record_count })
  if (late === undefined) return piece
  const { first, last } = late
  const begin = piece ?? { first_ordinal: first, previous_record: await predecessorOf(tx, owner, first) }
  const isHead = last === head.record_count
  const last_record = isHead ? head.head : await readLeafDigest(tx, owner, last)
  // From the end of the piece on: it holds what lies between its old end and the first late document too.
  const added = await countPiece(tx, owner, { first: piece === undefined ? first : piece.last_ordinal + 1, last })
  const { openings = 0, ends = 0, events = 0, requests = 0 } = piece ?? {}
  return {
    ...begin,
    last_ordinal: last,
    last_record,
    openings: openings + added.openings,
    ends: ends + added.ends,
    events: events + added.events,
    requests: requests + added.requests,
  }
}

const predecessorOf = async (source: Source, owner: number, ordinal: number): Promise<string> =>
  ordinal === 1 ? ZERO_HASH : await readLeafDigest(source, owner, ordinal - 1)
