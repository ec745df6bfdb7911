/** Every stored record: verified as a stranger would, in its place in the log and in its tenant's chain. */

import type { JsonObject } from "@runseal/canonical"
import type { Anchor, ChainLeaf, Leaf } from "@runseal/core/artifacts/anchor"
import type { ApprovalRequest } from "@runseal/core/artifacts/approval-request"
import { type Bundle, receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { recordFindings } from "@runseal/core/artifacts/record-findings"
import { recordInChain } from "@runseal/core/verify/bundle"
import { readBundle } from "@runseal/core/verify/bundle-forms"
import type { ChainDocument } from "@runseal/core/verify/chain-document"
import { compareDocuments } from "@runseal/core/verify/export-contradictions"
import { VERDICTS } from "@runseal/core/verify/report"
import { requestInChain } from "@runseal/core/verify/verify-approval-request"
import { openingInChain } from "@runseal/core/verify/verify-opening"
import { endInChain } from "@runseal/core/verify/verify-permit-end"
import { OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import { expect } from "vitest"
import { findingsText } from "../../src/store/tables/runs-table.ts"
import type { TenantRow } from "../../src/store/tables/tenants.ts"
import { type Auditor, referenceDigest } from "./auditor.ts"
import type { SealedPermits } from "./check-permits.ts"
import type { StoredRun, Tables } from "./read-tables.ts"
import type { TestService } from "./test-service.ts"

/** A verdict depends on text and trust alone, so that no text is judged twice: run number to what was judged. */
type Judged = Map<number, { readonly text: string; readonly bundle: Bundle }>
const judgedBy = new WeakMap<object, Judged>()

/** Judges records, and gives them. */
export function judgeRecords(auditor: Auditor, service: TestService, runs: readonly StoredRun[]): readonly Bundle[] {
  const judged = judgedBy.get(service) ?? new Map()
  judgedBy.set(service, judged)
  return runs.map(run => bundleOf(run, auditor, judged))
}

/** The documents of chains that are no records. */
type ChainedDocuments = SealedPermits & { readonly requests: readonly ApprovalRequest[] }

/** Every record, and what they are together. Gives the records it judged. */
export function checkRecords(
  auditor: Auditor,
  service: TestService,
  tables: Tables,
  others: ChainedDocuments,
): readonly Bundle[] {
  const { head, runs } = tables
  expect(
    runs.map(run => run.run_id),
    "run numbers are 1, 2, 3 …",
  ).toEqual(Array.from({ length: head.next_run_id - 1 }, (_, i) => i + 1))
  const bundles = judgeRecords(auditor, service, runs)
  checkChains(tables, bundles, others)
  runs.forEach((run, i) => {
    checkSummary(run, bundles[i]!)
  })
  return bundles
}

function bundleOf(run: StoredRun, { judge, checkEntry }: Auditor, judged: Judged): Bundle {
  const known = judged.get(run.run_id)
  if (known?.text === run.bundle) return known.bundle
  const bundle = readBundle(judge(run.bundle, VERDICTS.complete, `run ${run.run_id}`))
  if ("unreadable" in bundle) throw new Error(bundle.unreadable)
  for (const anchor of anchorsOf(bundle)) checkEntry(anchor)
  judged.set(run.run_id, { text: run.bundle, bundle })
  return bundle
}

export const anchorsOf = ({ anchors }: Bundle): readonly Anchor<Leaf>[] =>
  [anchors.pre_anchor, anchors.receipt, anchors.complete_record].filter(anchor => anchor !== undefined)

/** What `--complete` would find wrong with the documents of a tenant, in whatever order they were made. */
function contradictions(chain: readonly ChainDocument[], tenant: TenantRow, { head, windows }: Tables) {
  const last = chain.at(-1)
  const entry = last?.anchor?.entry
  if (entry === undefined) return []
  const statement = {
    // It is logged behind everything.
    entry: { ...entry, logIndex: `${head.size}`, integratedTime: `${head.log_time}` },
    windows: windows
      .filter(({ tenant_id }) => tenant_id === tenant.tenant_id)
      .map(({ window_seconds, window_start, movements, total }) => ({
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

/** The leaves of a tenant's chain, in its order: each names the one before it, and no ordinal is missing. */
function checkLinks(leaves: readonly ChainLeaf[], { tenant_id, record_count, head }: TenantRow): void {
  expect(
    leaves.map(leaf => leaf.tenant_ordinal),
    `ordinals of ${tenant_id}`,
  ).toEqual(leaves.map((_, i) => i + 1))
  for (const [at, leaf] of leaves.entries())
    expect(leaf.previous_record).toBe(at === 0 ? "0".repeat(64) : referenceDigest(leaves[at - 1]))
  expect(record_count).toBe(leaves.length)
  expect(head).toBe(leaves.length === 0 ? "0".repeat(64) : referenceDigest(leaves.at(-1)))
}

function checkChains(tables: Tables, bundles: readonly Bundle[], { openings, requests, ends }: ChainedDocuments): void {
  const { runs, tenants } = tables
  for (const tenant of tenants.filter(({ owner }) => owner >= 0)) {
    const own = bundles
      .filter(bundle => bundle.run.tenant_id === tenant.tenant_id)
      .sort((a, b) => ordinalOf(a) - ordinalOf(b))
    const isOwn = ({ tenant_id }: { readonly tenant_id: string }): boolean => tenant_id === tenant.tenant_id
    const chain = [
      ...own.map(recordInChain),
      ...openings.filter(isOwn).map(openingInChain),
      ...requests.filter(isOwn).map(requestInChain),
      ...ends.filter(isOwn).map(endInChain),
    ].sort((a, b) => ordinalIn(a) - ordinalIn(b))
    checkLinks(
      chain.flatMap(document => document.anchor?.leaf ?? []),
      tenant,
    )
    expect(contradictions(chain, tenant, tables)).toEqual([])
    expect(own.every(bundle => bundle.run.tenant_salt === tenant.salt)).toBe(true)
    expect(tenant.run_count).toBe(own.length)
    const rows = runs.filter(run => run.owner === tenant.owner).sort((a, b) => a.chain_ordinal - b.chain_ordinal)
    expect(rows.map(run => run.owner_ordinal)).toEqual(rows.map((_, i) => i + 1))
  }
  const known = new Set(tenants.map(tenant => tenant.owner))
  expect(runs.filter(run => !known.has(run.owner))).toEqual([])
}

const ordinalIn = ({ anchor }: ChainDocument): number => anchor?.leaf.tenant_ordinal ?? 0

const ordinalOf = (bundle: Bundle): number => bundle.anchors.complete_record?.leaf.tenant_ordinal ?? 0

/** Of the receipt's own members: whichever of them its version has says the reason. */
function sealedRefusal(bundle: Bundle): string {
  const receipt: JsonObject = receiptOf(bundle)?.receipt ?? {}
  const { decision_reason_code, decision_reason, halt_reason_code, fired_rule_id } = receipt
  return [decision_reason_code ?? decision_reason ?? halt_reason_code ?? "", fired_rule_id ?? []].flat().join(":")
}

/** The columns that lists and searches read are projections of the sealed document. */
function checkSummary(row: StoredRun, bundle: Bundle): void {
  const { bundle: _bundle, disclosure_seed, owner, owner_ordinal: _ordinal, ...columns } = row
  const { run } = bundle
  const sealed: JsonObject | undefined = bundle.manifest ?? bundle.partial_manifest
  const hash = run.outcome_kind === "stage_error" ? "" : (sealed?.ManifestHash ?? receiptOf(bundle)?.receipt.hash)
  expect(columns).toEqual({
    run_id: run.run_id,
    chain_ordinal: ordinalOf(bundle),
    leaf_digest: referenceDigest(bundle.anchors.complete_record?.leaf ?? {}),
    log_index: Number(bundle.anchors.complete_record?.entry.logIndex),
    created_at: Date.parse(run.created_at),
    outcome_kind: run.outcome_kind,
    error_stage: run.error_stage ?? "",
    program_id: run.program_id,
    route_id: run.route_id,
    manifest_hash: hash,
    execution_region: run.execution_region,
    enforcement: bundle.sections.envelope?.enforcement ?? "",
    duration_us: run.duration_us,
    findings: findingsText(recordFindings(bundle.sections)),
    refusal: sealedRefusal(bundle),
    permit_id: bundle.sections.permit?.permit_id ?? "",
    closing_outcome: bundle.sections.permit?.outcome ?? "",
  })
  if (run.outcome_kind !== "stage_error") expect(columns.error_stage).toBe(OUTCOMES[run.outcome_kind].error_stage)
  expect(disclosure_seed).toHaveLength(32)
  expect(owner).toBeGreaterThanOrEqual(0)
}
