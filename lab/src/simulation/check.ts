/**
 * The full check after a simulation, from the committed rows alone and, where possible, by other code than what wrote them:
 * the log from its entries, every document by the public verifier, chains, budgets, and every state of the log that was ever published.
 */
import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { canonicalize, type JsonValue } from "@runseal/canonical"
import type { Anchor } from "@runseal/core/artifacts/anchor"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { storedRedemption } from "@runseal/core/seal/permits/locked-permit"
import { recordInChain } from "@runseal/core/verify/bundle"
import { readBundle } from "@runseal/core/verify/bundle-forms"
import { chainProblems } from "@runseal/core/verify/chain"
import type { ChainDocument } from "@runseal/core/verify/chain-document"
import { redemptionAnchor } from "@runseal/core/verify/close"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import { VERDICTS, type Verdict } from "@runseal/core/verify/report"
import { openingInChain } from "@runseal/core/verify/verify-opening"
import { endInChain } from "@runseal/core/verify/verify-permit-end"
import { parseCheckpoint, publicOrigin } from "@runseal/log/notes/checkpoint"
import { verifyNote } from "@runseal/log/notes/verified-note"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type AttestationRow, attestation } from "@runseal/server/store/tables/attestations-table"
import {
  type LogEntryRow,
  type LogHeadRow,
  type LogTileRow,
  log_entry,
  log_head,
  log_tile,
} from "@runseal/server/store/tables/log-store"
import { type NewRunRow, type OutcomeCountRow, outcome_count, run } from "@runseal/server/store/tables/runs-table"
import { type TenantWindowRow, tenant_window } from "@runseal/server/store/tables/tenant-windows"
import { type TenantRow, tenant } from "@runseal/server/store/tables/tenants"
import { naiveLeaf, naiveRoot, naiveTiles } from "../../../apps/server/spec/harness/naive-log.ts"
import { checkBudgets } from "./check-movements.ts"
import {
  checkPermits,
  contradictions,
  type SealedPermits,
  sealedPermits,
  type WithDocument,
  withDocuments,
} from "./check-openings.ts"
import { decoded, type Snapshot } from "./database/simulated-rows.ts"

/** A published or stored state of the log: it must be a prefix of the final log. */
export type Promised = { readonly size: number; readonly root: string; readonly by: string }

export type Sealed = SealedPermits & {
  readonly runs: readonly (WithDocument<NewRunRow> & { readonly bundle: Bundle })[]
  readonly attestations: readonly (WithDocument<AttestationRow> & { readonly document: Anchor })[]
}

/** Verifies a document. @throws AssertionError when it has another verdict */
export type Judge = (text: string, verdict: Verdict) => void

/** @param judged texts that were verified before, under the same keys */
export function judgeBy(trust: TrustedKeys, judged: ReadonlySet<string>): Judge {
  return (text, verdict) => {
    if (judged.has(text)) return
    const report = verifyText(text, [trust])
    assert.ok(!isUnreadable(report), "a stored document is readable")
    const failed = report.checks.filter(({ result }) => result === "fail").map(({ id }) => id)
    assert.deepEqual({ verdict: report.verdict, failed }, { verdict, failed: [] })
  }
}

/** @throws AssertionError when a check fails */
export function checkStore(state: Snapshot, trust: TrustedKeys, judge: Judge, promised: readonly Promised[]): Sealed {
  const [head] = decoded<LogHeadRow>(state, log_head)
  assert.ok(head !== undefined)
  const entries = decoded<LogEntryRow>(state, log_entry)
  const runs = withDocuments(state, "bundle", decoded<NewRunRow>(state, run)).map(one => ({
    ...one,
    bundle: readJudged(one.stored.packed, judge),
  }))
  const attested = withDocuments(state, "attestation", decoded<AttestationRow>(state, attestation))
  const attestations = attested.map(({ row, stored }) => {
    judge(stored.packed, VERDICTS.attestation)
    const document: Anchor = JSON.parse(stored.packed)
    return { row, stored, document }
  })
  const sealed = { runs, attestations, ...sealedPermits(state, judge) }
  const documents = [...attestations, ...sealed.openings, ...sealed.ends].map(({ document }) => document)
  const redemptions = sealed.openings.flatMap(({ row }) => {
    const redemption = storedRedemption(row)
    return redemption === undefined ? [] : [redemptionAnchor(row.permit_id, redemption)]
  })
  const anchors = [...runs.flatMap(({ bundle }) => anchorsOf(bundle)), ...documents, ...redemptions]
  checkLog(head, entries, decoded<LogTileRow>(state, log_tile), trust, [...promised, ...anchors.map(promiseOf)])
  checkEntries(anchors, entries)
  checkBudgets(state, sealed)
  checkRuns(runs, head)
  checkChains(sealed, state, head)
  checkCounts(
    runs.map(({ row }) => row),
    decoded<OutcomeCountRow>(state, outcome_count),
  )
  checkAttestations(attestations.map(({ row }) => row))
  checkPermits(state, sealed)
  return sealed
}

function readJudged(text: string, judge: Judge): Bundle {
  judge(text, VERDICTS.complete)
  const bundle = readBundle(JSON.parse(text))
  assert.ok(!("unreadable" in bundle))
  return bundle
}

const anchorsOf = ({ anchors }: Bundle): readonly Anchor[] =>
  [anchors.pre_anchor, anchors.receipt, anchors.complete_record].filter(anchor => anchor !== undefined)

/** The state of the log in an anchor's proof. */
const promiseOf = ({ entry }: Pick<Anchor, "entry">): Promised => ({
  size: Number(entry.inclusionProof.treeSize),
  root: Buffer.from(entry.inclusionProof.rootHash, "base64").toString("hex"),
  by: `the proof of entry ${entry.logIndex}`,
})

function checkLog(
  head: LogHeadRow,
  entries: readonly LogEntryRow[],
  tiles: readonly LogTileRow[],
  trust: TrustedKeys,
  promised: readonly Promised[],
): void {
  assert.deepEqual(
    entries.map(({ log_index }) => log_index),
    Array.from({ length: head.size }, (_, at) => at),
    "log indices are 0, 1, 2 …",
  )
  const times = entries.map(({ integrated_time }) => integrated_time)
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
    "log time does not go back",
  )
  assert.equal(head.log_time, times.at(-1) ?? 0)
  const leaves = entries.map(({ body }) => naiveLeaf(Buffer.from(body)))
  const known = new Map<number, string>()
  const rootAt = (size: number): string => {
    const root = known.get(size) ?? naiveRoot(leaves.slice(0, size)).toString("hex")
    known.set(size, root)
    return root
  }
  assert.equal(Buffer.from(head.root).toString("hex"), rootAt(head.size), "the head's root is that of its entries")
  const note = verifyNote(head.checkpoint, trust.checkpointKeys)
  const checkpoint = note === undefined ? undefined : parseCheckpoint(note.text)
  assert.deepEqual(
    [checkpoint?.origin, checkpoint?.size, Buffer.from(checkpoint?.root ?? []).toString("hex")],
    [publicOrigin(trust.origin), head.size, rootAt(head.size)],
    "the public checkpoint is signed and that of the head",
  )
  for (const { size, root, by } of promised) {
    assert.ok(size <= head.size, `the log has no fewer entries than ${by} said: ${size}`)
    assert.equal(root, rootAt(size), `${by} said the log began so at ${size} entries`)
  }
  const expected = naiveTiles(leaves)
  for (const { level, tile_index, hashes } of tiles)
    assert.deepEqual(Buffer.from(hashes), expected.get(`tile/${level}/${`${tile_index}`.padStart(3, "0")}`))
  assert.equal(tiles.length, Math.floor(head.size / 256))
}

/** Entry 0 is the log's genesis; every other one is one anchor of one document, with the same body and time. */
function checkEntries(anchors: readonly Anchor[], entries: readonly LogEntryRow[]): void {
  const shown = anchors.map(({ entry }) => Number(entry.logIndex)).sort((a, b) => a - b)
  assert.deepEqual(
    shown,
    entries.slice(1).map((_, at) => at + 1),
    "every entry is one document's",
  )
  for (const { leaf, entry } of anchors) {
    const row = entries[Number(entry.logIndex)]
    const body = Buffer.from(entry.canonicalizedBody, "base64").toString()
    assert.deepEqual([body, Number(entry.integratedTime)], [row?.body, row?.integrated_time])
    assert.ok(body.includes(digestOf(leaf)), "an entry is its leaf's")
  }
}

const digestOf = (leaf: JsonValue): string => createHash("sha256").update(canonicalize(leaf)).digest("hex")

function checkRuns(runs: Sealed["runs"], head: LogHeadRow): void {
  const ids = runs.map(({ row }) => row.run_id).sort((a, b) => a - b)
  assert.deepEqual(
    ids,
    Array.from({ length: head.next_run_id - 1 }, (_, at) => at + 1),
    "run numbers are 1, 2, 3 …",
  )
  for (const { row, stored, bundle } of runs) {
    assert.deepEqual([row.run_id, row.outcome_kind], [bundle.run.run_id, bundle.run.outcome_kind])
    const { leaf } = bundle.anchors.complete_record ?? {}
    assert.deepEqual([stored.chain_ordinal, stored.leaf_digest], [leaf?.tenant_ordinal, digestOf(leaf ?? {})])
  }
}

function checkChains({ runs, openings, ends }: Sealed, state: Snapshot, head: LogHeadRow): void {
  const tenants = decoded<TenantRow>(state, tenant)
  const windows = decoded<TenantWindowRow>(state, tenant_window)
  for (const { tenant_id, salt, record_count, run_count, head: last } of tenants) {
    const own = runs.filter(({ bundle }) => bundle.run.tenant_id === tenant_id)
    const isOwn = ({ document }: { readonly document: { readonly tenant_id: string } }): boolean =>
      document.tenant_id === tenant_id
    const chain = [
      ...own.map(({ bundle }) => recordInChain(bundle)),
      ...openings.filter(isOwn).map(({ document }) => openingInChain(document)),
      ...ends.filter(isOwn).map(({ document }) => endInChain(document)),
    ].sort((a, b) => ordinalOf(a) - ordinalOf(b))
    assert.deepEqual(
      chain.map(ordinalOf),
      Array.from({ length: record_count }, (_, at) => at + 1),
      `the ordinals of ${tenant_id} have no gap`,
    )
    const problems = chainProblems(chain)
    const charged = windows.filter(window => window.tenant_id === tenant_id)
    assert.deepEqual([...problems, ...contradictions(chain, charged, head.size)], [], `the chain of ${tenant_id}`)
    assert.ok(own.every(({ bundle }) => bundle.run.tenant_salt === salt))
    const inOrder = own.toSorted((a, b) => a.stored.chain_ordinal - b.stored.chain_ordinal)
    assert.deepEqual(
      inOrder.map(({ row }) => row.owner_ordinal),
      Array.from({ length: run_count }, (_, at) => at + 1),
      `the runs of ${tenant_id} have no gap`,
    )
    const leaf = chain.at(-1)?.anchor?.leaf
    assert.equal(last, leaf ? digestOf(leaf) : "0".repeat(64), `the chain of ${tenant_id} ends with its last document`)
  }
  const known = new Set(tenants.map(({ tenant_id }) => tenant_id))
  assert.ok(runs.every(({ bundle }) => known.has(bundle.run.tenant_id)))
}

const ordinalOf = ({ anchor }: ChainDocument): number => anchor?.leaf.tenant_ordinal ?? 0

/** The counts of outcomes are those of the runs. */
function checkCounts(rows: readonly NewRunRow[], counts: readonly OutcomeCountRow[]): void {
  const counted = new Map<string, number>()
  for (const { owner, outcome_kind } of rows)
    counted.set(`${owner} ${outcome_kind}`, (counted.get(`${owner} ${outcome_kind}`) ?? 0) + 1)
  const stored = counts.map(({ owner, outcome_kind, runs }) => [`${owner} ${outcome_kind}`, runs] as const)
  assert.deepEqual(new Map(stored), counted, "runs are counted by owner and outcome")
}

function checkAttestations(rows: readonly AttestationRow[]): void {
  for (const owner of new Set(rows.map(row => row.owner))) {
    const ordinals = rows.filter(row => row.owner === owner).map(row => row.owner_ordinal)
    assert.deepEqual(
      ordinals.sort((a, b) => a - b),
      ordinals.map((_, at) => at + 1),
      `the attestations of ${owner} have no gap`,
    )
  }
}
