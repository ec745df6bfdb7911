/** Every stored record: verified as a stranger would, in its place in the log and in its tenant's chain. */
import { createHash, createPublicKey, verify } from "node:crypto"
import type { JsonObject } from "@runseal/canonical"
import { parseStrictJson } from "@runseal/canonical"
import type { Anchor, Leaf } from "@runseal/core/artifacts/anchor"
import { type Bundle, receiptOf } from "@runseal/core/artifacts/bundle"
import { parseTrust } from "@runseal/core/transparency-log/trust-document"
import type { TrustedKeys } from "@runseal/core/transparency-log/trusted-keys"
import { chainProblems } from "@runseal/core/verify/chain"
import { isUnreadable, readBundle, verifyText } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import canonicalizeReference from "canonicalize"
import { expect } from "vitest"
import type { LogEntryRow, RunRow } from "../../src/store/schema.ts"
import type { TestService } from "./service.ts"
import type { Tables } from "./tables.ts"

/** RFC 8785 and SHA-256 by others than us. */
export const referenceText = (value: unknown): string => canonicalizeReference(value) ?? ""
export const referenceDigest = (value: unknown): string =>
  createHash("sha256").update(referenceText(value)).digest("hex")

/** A verdict depends on text and trust alone, so that no text is judged twice: run number to what was judged. */
type Judged = Map<number, { readonly text: string; readonly bundle: Bundle }>
const judgedBy = new WeakMap<object, Judged>()

/** Gives the records it judged. */
export async function checkRecords(service: TestService, tables: Tables): Promise<readonly Bundle[]> {
  const { head, runs, entries } = tables
  expect(
    runs.map(run => run.run_id),
    "run numbers are 1, 2, 3 …",
  ).toEqual(Array.from({ length: head.next_run_id - 1 }, (_, i) => i + 1))
  const trust = parseTrust((await service.get("/.well-known/runseal-trust.json")).body)
  if ("problem" in trust) throw new Error(trust.problem)
  const servicePem = (await service.get("/.well-known/service.pub")).text
  const judged = judgedBy.get(service) ?? new Map()
  judgedBy.set(service, judged)
  const bundles = runs.map(run => bundleOf(run, trust, judged, anchor => checkEntry(anchor, entries, servicePem)))
  checkEveryEntryExplained(bundles, head.size)
  checkChains(tables, bundles)
  runs.forEach((run, i) => {
    checkSummary(run, bundles[i]!)
  })
  return bundles
}

function bundleOf(run: RunRow, trust: TrustedKeys, judged: Judged, check: (anchor: Anchor) => void): Bundle {
  const known = judged.get(run.run_id)
  if (known?.text === run.bundle) return known.bundle
  const report = verifyText(run.bundle, [trust])
  const verdict = isUnreadable(report) ? report.unreadable : report.verdict
  const failed = isUnreadable(report) ? [] : report.checks.filter(({ result }) => result === "fail")
  expect({ verdict, failed }, `run ${run.run_id}`).toEqual({ verdict: VERDICTS.complete, failed: [] })
  const value = parseStrictJson(run.bundle)
  expect(referenceText(JSON.parse(run.bundle)), "a bundle is stored in its canonical form").toBe(run.bundle)
  if (!isObject(value)) throw new Error("a bundle is an object")
  const bundle = readBundle(value)
  if ("unreadable" in bundle) throw new Error(bundle.unreadable)
  for (const anchor of anchorsOf(bundle)) check(anchor)
  judged.set(run.run_id, { text: run.bundle, bundle })
  return bundle
}

export const anchorsOf = ({ anchors }: Bundle): readonly Anchor<Leaf>[] =>
  [anchors.pre_anchor, anchors.receipt, anchors.complete_record].filter(anchor => anchor !== undefined)

/** The anchor's entry is the log's, its digest the leaf's, and the service signed the leaf. */
function checkEntry({ leaf, entry }: Anchor, entries: readonly LogEntryRow[], servicePem: string): void {
  const row = entries[Number(entry.logIndex)]
  expect(Buffer.from(entry.canonicalizedBody, "base64").toString("utf8")).toBe(row?.body)
  expect(Number(entry.integratedTime)).toBe(row?.integrated_time)
  const body: unknown = JSON.parse(row?.body ?? "")
  const text = referenceText(leaf)
  expect(body).toMatchObject({
    kind: "hashedrekord",
    spec: { data: { hash: { algorithm: "sha256", value: createHash("sha256").update(text).digest("hex") } } },
  })
  const { spec } = body as { spec: { signature: { content: string } } }
  const signature = Buffer.from(spec.signature.content, "base64")
  expect(verify("sha256", Buffer.from(text), createPublicKey(servicePem), signature)).toBe(true)
}

/** Nothing is in the log that no record shows: entry 0 is the log's birth, every other is one anchor of one record. */
function checkEveryEntryExplained(bundles: readonly Bundle[], size: number): void {
  const shown = bundles.flatMap(anchorsOf).map(anchor => Number(anchor.entry.logIndex))
  expect(shown.sort((a, b) => a - b)).toEqual(Array.from({ length: size - 1 }, (_, i) => i + 1))
}

function checkChains({ runs, tenants }: Tables, bundles: readonly Bundle[]): void {
  for (const tenant of tenants) {
    const own = bundles
      .filter(bundle => bundle.run.tenant_id === tenant.tenant_id)
      .sort((a, b) => ordinalOf(a) - ordinalOf(b))
    expect(own.map(ordinalOf), `ordinals of ${tenant.tenant_id}`).toEqual(own.map((_, i) => i + 1))
    expect(chainProblems(own)).toEqual([])
    expect(own.every(bundle => bundle.run.tenant_salt === tenant.salt)).toBe(true)
    expect(tenant.record_count).toBe(own.length)
    expect(tenant.head).toBe(referenceDigest(own.at(-1)?.anchors.complete_record?.leaf))
  }
  const known = new Set(tenants.map(tenant => tenant.owner))
  expect(runs.filter(run => !known.has(run.owner))).toEqual([])
}

const ordinalOf = (bundle: Bundle): number => bundle.anchors.complete_record?.leaf.tenant_ordinal ?? 0

/** The columns that lists and searches read are projections of the sealed document. */
function checkSummary(row: RunRow, bundle: Bundle): void {
  const { bundle: _bundle, disclosure_seed, owner, ...columns } = row
  const { run } = bundle
  const sealed: JsonObject | undefined = bundle.manifest ?? bundle.partial_manifest
  const hash = run.outcome_kind === "stage_error" ? "" : (sealed?.ManifestHash ?? receiptOf(bundle)?.receipt.hash)
  expect(columns).toEqual({
    run_id: run.run_id,
    owner_ordinal: ordinalOf(bundle),
    created_at: Date.parse(run.created_at),
    outcome_kind: run.outcome_kind,
    error_stage: run.error_stage ?? "",
    program_id: run.program_id,
    route_id: run.route_id,
    manifest_hash: hash,
    execution_region: run.execution_region,
    duration_us: run.duration_us,
  })
  if (run.outcome_kind !== "stage_error") expect(columns.error_stage).toBe(OUTCOMES[run.outcome_kind].error_stage)
  expect(disclosure_seed).toHaveLength(32)
  expect(owner).toBeGreaterThanOrEqual(0)
}
