/** The statement at the head of an export, on its way into the log. docs/formats.md section 7.7. */
import { canonicalize } from "@runseal/canonical"
import { COUNTS, type Counts, type ExportStatementLeaf, leafCounts, NO_DOCUMENTS } from "@runseal/core/artifacts/anchor"
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
import { KINDS } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { ZERO_HASH } from "@runseal/core/vocabulary/scalars"
import type { Tenant } from "@runseal/core/wire/submission"
import type { Source, Tx } from "../store/driver/session.ts"
import {
  type AdmittedRange,
  countOpen,
  countPiece,
  findSpan,
  type OrdinalSpan,
  readLeafDigest,
  readTouchedWindows,
  type WindowTotal,
} from "../store/tables/export-reads.ts"
import { readRecordCount } from "../store/tables/tenants.ts"
import { type Item, type ItemPart, leafed, type Round, withoutLeaf } from "./batch.ts"

/** A piece of a chain, and how many documents of each kind are in it. */
type CountedPiece = { readonly piece: ChainPiece; readonly counts: Counts }

/** An export request, with what was read of the chain before the batch locks it. */
export type ExportDraft = {
  readonly tenant: Tenant
  /** RFC 3339; the time of the request. */
  readonly export_clock: string
  readonly range: AdmittedRange
  /** How many documents of the chain were read. */
  readonly seen: number
  /** The requested piece of them. */
  readonly counted?: CountedPiece
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
    const counts = await countDocuments(session, tenant.owner, span)
    const piece = { first_ordinal: span.first, last_ordinal: span.last, previous_record, last_record }
    return { ...draft, counted: { piece, counts } }
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
  const counted = head_ordinal === draft.seen ? draft.counted : await extended(tx, draft, head)
  const windows = (await readTouchedWindows(tx, tenant_id, draft.range)).map(exportedWindow)
  const leaf: ExportStatementLeaf = exportStatementLeaf({
    tenant_commitment: tenantCommitment(tenant_id, tenant_salt),
    export_clock: draft.export_clock,
    head_ordinal,
    head: head.head,
    open_permits: await countOpen(tx, draft.tenant.owner),
    windows_hash: windowsHash(windows),
    ...clocksOf(draft.range),
    ...counted?.piece,
    ...leafCounts(counted?.counts ?? NO_DOCUMENTS),
  })
  return { tenant_id, tenant_salt, windows, leaf }
}

const countDocuments = async (source: Source, owner: number, span: OrdinalSpan): Promise<Counts> =>
  countsByKind(await countPiece(source, owner, span), span)

/** How many documents a statement counts in a piece, under the name that each kind has. @param found by kind; those of no other kind are records */
export function countsByKind(found: ReadonlyMap<string, number>, { first, last }: OrdinalSpan, kinds = KINDS): Counts {
  const counts = { ...NO_DOCUMENTS }
  let others = 0
  for (const { document, counted } of kinds) {
    const count = found.get(document) ?? 0
    if (counted !== undefined) counts[counted] += count
    others += count
  }
  counts.records += last - first + 1 - others
  return counts
}

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
  const { counted, range, seen } = draft
  const { owner } = draft.tenant
  const late = await findSpan(tx, owner, range, { first: seen + 1, last: head.record_count })
  if (late === undefined) return counted
  const { first, last } = late
  const begin = counted?.piece ?? { first_ordinal: first, previous_record: await predecessorOf(tx, owner, first) }
  const isHead = last === head.record_count
  const last_record = isHead ? head.head : await readLeafDigest(tx, owner, last)
  // From the end of the piece on: it holds what lies between its old end and the first late document too.
  const added = { first: counted === undefined ? first : counted.piece.last_ordinal + 1, last }
  const counts = { ...(await countDocuments(tx, owner, added)) }
  for (const name of COUNTS) counts[name] += counted?.counts[name] ?? 0
  return { piece: { ...begin, last_ordinal: last, last_record }, counts }
}

const predecessorOf = async (source: Source, owner: number, ordinal: number): Promise<string> =>
  ordinal === 1 ? ZERO_HASH : await readLeafDigest(source, owner, ordinal - 1)
