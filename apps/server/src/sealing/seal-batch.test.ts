/** A batch is sealed whole for all that can be sealed; what cannot is a stage_error or refused, and spoils nothing else. */

import { canonicalUtf8 } from "@runseal/canonical"
import { reduce } from "@runseal/core/derivation/derive"
import { leafDigest } from "@runseal/core/formulas/leaves"
import type { Draft } from "@runseal/core/seal/draft"
import { type PipelineContext, runToLog } from "@runseal/core/seal/pipeline"
import type { StageFailure } from "@runseal/core/seal/stage-failure"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { ZERO_HASH } from "@runseal/core/vocabulary/scalars"
import { emptyRange } from "@runseal/log/merkle/compact-range"
import fc from "fast-check"
import { expect, test } from "vitest"
import { BATCH_TIME, batchLog, batchMoment, batchPipeline, batchTrust } from "../../spec/harness/batch-fixture.ts"
import { growLog } from "../keys/embedded-log.ts"
import type { Batch, BatchStart, SealedRun } from "./batch.ts"
import { type AttestationDraft, attestationDraft, attestationItem, type SealedAttestation } from "./seal-attestation.ts"
import { buildBatch } from "./seal-batch.ts"
import { runItem } from "./seal-run.ts"
import { verifyHere } from "./verification.ts"

const FIRST_RUN_ID = 8

const context: PipelineContext = {
  ...batchPipeline,
  makeCharge: async ({ tokens }) => ({ ordinal: 1, total_after: tokens }),
}

const draftOf = (tenant_id: string, declared_tokens: number): Promise<Draft> =>
  runToLog(
    {
      tenant: { tenant_id, owner: 0 },
      program_id: "a1".repeat(32),
      route_id: "r",
      registry_record_hash: "b2".repeat(32),
      payload: "p",
      declared: { request_substance: { cost: { total_tokens: declared_tokens } } },
      declared_tokens,
      origin: {
        source_ip_hash: ZERO_HASH,
        user_agent_hash: ZERO_HASH,
        authentication: {
          method: "api_key",
          api_key_id: Number(tenant_id.slice("api-key-".length)),
          api_key_name: "k",
        },
      },
    },
    batchMoment(),
    context,
  )

/** What becomes of a draft, and how it comes about. */
type Fate = "ok" | "halted" | "stage_error" | "halt_to_stage_error" | "refused" | "refused_at_once"
const WRONG = "f".repeat(64)

async function draftFor(fate: Fate, tenant: string): Promise<Draft> {
  const draft = await draftOf(tenant, fate.startsWith("halt") ? 2000 : 1)
  const { transcript, payload } = draft.sections
  if (transcript === undefined || payload === undefined) throw new Error("every draft here comes through the pipeline")
  switch (fate) {
    case "ok":
    case "halted":
      return draft
    // Stage 9 finds it; a stage_error has no transcript.
    case "stage_error":
    case "halt_to_stage_error":
      return { ...draft, sections: { ...draft.sections, transcript: { ...transcript, hash: WRONG } } }
    // Wrong in whatever record it is.
    case "refused":
      return { ...draft, sections: { ...draft.sections, payload: { ...payload, hash: WRONG } } }
    case "refused_at_once":
      return { ...draft, moment: { ...draft.moment, at: "yesterday" } }
  }
}

const ATTESTED = { digest: "c3".repeat(32), algorithm: "sha256" } as const
const attestationFor = (sound: boolean): AttestationDraft => {
  const draft = attestationDraft(3, ATTESTED)
  return sound ? draft : { ...draft, leaf: { ...draft.leaf, digest: "none" } }
}

const TENANTS = ["api-key-1", "api-key-2"] as const
/** Entries before the batch: the log's birth, and room for the records that the tenants have. */
const ENTRIES_BEFORE = 20
const before = growLog({ range: emptyRange, edges: [] })
for (let i = 0; i < ENTRIES_BEFORE; i++) before.append(Uint8Array.of(i))
const start: BatchStart = {
  frontier: before.frontier(),
  next_run_id: FIRST_RUN_ID,
  tenants: new Map(
    TENANTS.map(tenant_id => [
      tenant_id,
      { tenant_id, salt: ZERO_HASH, record_count: 4, run_count: 4, head: "e5".repeat(32) },
    ]),
  ),
  attested: new Map([[3, 7]]),
  time: BATCH_TIME / 1000,
  now: BATCH_TIME,
}

const OUTCOME_OF = {
  ok: "ok",
  halted: "ccv_halt",
  stage_error: "stage_error",
  halt_to_stage_error: "stage_error",
  refused: undefined,
  refused_at_once: undefined,
} as const

type Planned = { readonly fate: Fate; readonly tenant: (typeof TENANTS)[number] }

/** Everything sealed verifies by the public verifier; run numbers, ordinals and chains have no gap where one was refused. */
function expectWhole(sealed: SealedBatch, plan: readonly Planned[], sound: readonly boolean[]): void {
  const { batch } = sealed
  expect(sealed.runs.map(run => run?.bundle.run.outcome_kind)).toEqual(plan.map(({ fate }) => OUTCOME_OF[fate]))
  const runs = sealed.runs.filter(run => run !== undefined)
  expect(runs.map(({ bundle }) => bundle.run.run_id)).toEqual(runs.map((_, i) => FIRST_RUN_ID + i))
  for (const { text, bundle } of runs) {
    expect(text).toEqual(canonicalUtf8(reduce(bundle)))
    const report = verifyText(text, [batchTrust])
    expect(isUnreadable(report) ? report : report.verdict).toBe(VERDICTS.complete)
  }
  for (const tenant_id of TENANTS) {
    const leaves = runs
      .filter(({ draft }) => draft.tenant.tenant_id === tenant_id)
      .map(({ bundle }) => bundle.anchors.complete_record!.leaf)
    const heads = ["e5".repeat(32), ...leaves.map(leaf => leafDigest(leaf))]
    expect(leaves.map(leaf => leaf.tenant_ordinal)).toEqual(leaves.map((_, i) => 5 + i))
    expect(leaves.map(leaf => leaf.previous_record)).toEqual(heads.slice(0, -1))
    expect(batch.tenants.get(tenant_id)).toMatchObject({ record_count: 4 + leaves.length, head: heads.at(-1) })
  }
  expect(sealed.attestations.map(item => item !== undefined)).toEqual(sound)
  const attestations = batch.sealed.flatMap(({ rows }) => rows.attestation ?? [])
  expect(attestations.map(({ attestation_id }) => attestation_id)).toEqual(
    sealed.attestations.flatMap(item => item?.document.attestation_id ?? []),
  )
  expect(attestations.map(({ owner_ordinal }) => owner_ordinal)).toEqual(attestations.map((_, i) => 8 + i))
  expect(batch.entries.map(({ index }) => index)).toEqual(batch.entries.map((_, i) => ENTRIES_BEFORE + i))
  expect(batch.log.size()).toBe(ENTRIES_BEFORE + batch.entries.length)
  const firsts = runs.filter(({ bundle }) => bundle.run.outcome_kind !== "stage_error").length
  expect(batch.entries.length).toBe(firsts + runs.length + attestations.length)
}

/** A batch, and what each of its items was answered: undefined for one that was refused. */
type SealedBatch = {
  readonly batch: Batch
  readonly runs: readonly (SealedRun | undefined)[]
  readonly attestations: readonly (SealedAttestation | undefined)[]
  readonly faults: readonly StageFailure[]
}

const seal = async (plan: readonly Planned[], sound: readonly boolean[] = []): Promise<SealedBatch> => {
  const drafts = await Promise.all(plan.map(({ fate, tenant }) => draftFor(fate, tenant)))
  const faults: StageFailure[] = []
  const reportFault = (failure: StageFailure): void => void faults.push(failure)
  const runs = new Map<number, SealedRun>()
  const attestations = new Map<number, SealedAttestation>()
  const items = [
    ...drafts.map((draft, i) => runItem(draft, undefined, run => void runs.set(i, run))),
    ...sound.map((one, i) => attestationItem(attestationFor(one), undefined, made => void attestations.set(i, made))),
  ]
  const attempts = items.map(item => ({ item, open: item.open }))
  const batch = await buildBatch(attempts, start, {
    log: batchLog,
    verify: verifyHere(batchTrust),
    trust: batchTrust,
    reportFault,
    watch: batchPipeline.watch,
  })
  for (const { acknowledge } of batch.sealed) acknowledge()
  return {
    batch,
    runs: plan.map((_, i) => runs.get(i)),
    attestations: sound.map((_, i) => attestations.get(i)),
    faults,
  }
}

test("a run that fails in stages 7–9 is a stage_error of that stage; the others are as they were", async () => {
  const plan: readonly Planned[] = [
    { fate: "ok", tenant: "api-key-1" },
    { fate: "stage_error", tenant: "api-key-1" },
    { fate: "halted", tenant: "api-key-2" },
    { fate: "ok", tenant: "api-key-1" },
  ]
  const sealed = await seal(plan, [true])
  expectWhole(sealed, plan, [true])
  const { run, sections, manifest, allow_token } = sealed.runs[1]!.bundle
  expect(run).toMatchObject({ error_stage: "DLA", error_message: "The record did not pass its own verification." })
  expect([sections.transcript, manifest, allow_token]).toEqual([undefined, undefined, undefined])
  expect(sealed.faults.map(({ fault }) => fault.stage)).toEqual(["DLA"])
})

test("a refused run whose record fails is a stage_error that says what had stopped it", async () => {
  const { runs } = await seal([{ fate: "halt_to_stage_error", tenant: "api-key-1" }])
  const [run] = runs
  const report = verifyText(run!.text, [batchTrust])
  expect(report).toMatchObject({
    verdict: VERDICTS.complete,
    outcome_kind: "stage_error",
    statement: expect.stringContaining(
      "The budget of one run had halted this run (2000 tokens declared, limit 1000); then stage DLA failed.",
    ),
  })
})

test("a record that does not verify even as a stage_error is refused alone, and reported to the operator", async () => {
  const plan: readonly Planned[] = [
    { fate: "refused", tenant: "api-key-1" },
    { fate: "ok", tenant: "api-key-1" },
    { fate: "refused_at_once", tenant: "api-key-2" },
    { fate: "halted", tenant: "api-key-2" },
  ]
  const sealed = await seal(plan, [true, false, true])
  expectWhole(sealed, plan, [true, false, true])
  expect(sealed.faults.length).toBeGreaterThanOrEqual(3)
})

test("a batch of which nothing can be sealed appends nothing", async () => {
  const plan: readonly Planned[] = [{ fate: "refused", tenant: "api-key-1" }]
  const sealed = await seal(plan, [false])
  expectWhole(sealed, plan, [false])
  expect(sealed.batch.entries).toEqual([])
})

test("whatever fails in a batch, at whatever index, all else is sealed", async () => {
  const fate = fc.constantFrom<Fate>("ok", "halted", "stage_error", "halt_to_stage_error", "refused", "refused_at_once")
  const planned = fc.record({ fate, tenant: fc.constantFrom(...TENANTS) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(planned, { maxLength: 6 }),
      fc.array(fc.boolean(), { maxLength: 3 }),
      async (plan, sound) => expectWhole(await seal(plan, sound), plan, sound),
    ),
    { numRuns: 25 },
  )
})
