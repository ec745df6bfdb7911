/** Permits in a batch that holds what cannot be sealed: it is refused alone, and moves nothing. */
import type { WrittenTexts } from "@runseal/canonical"
import type { Opening } from "@runseal/core/artifacts/opening"
import type { PendingEnd, PendingRedemption, PermitLocks } from "@runseal/core/seal/permits/settle-permits"
import { windowName } from "@runseal/core/seal/permits/windows"
import { closePermit, openPermit } from "@runseal/core/seal/pipeline"
import type { PendingClose, PendingOpening } from "@runseal/core/seal/settlement"
import { ZERO_HASH } from "@runseal/core/vocabulary/scalars"
import { emptyRange } from "@runseal/log/merkle/compact-range"
import { expect, test } from "vitest"
import { BATCH_TIME, batchLog, batchMoment, batchPipeline, batchTrust } from "../../spec/harness/batch-fixture.ts"
import { growLog } from "../keys/embedded-log.ts"
import type { Batch, BatchStart, OpenItem, SealedRun } from "./batch.ts"
import { buildBatch } from "./seal-batch.ts"
import { closeItem, endItem, openingItem, redemptionItem } from "./seal-permits.ts"
import { verifyHere } from "./verification.ts"

const WRONG = "f".repeat(64)
const TENANT = { tenant_id: "api-key-1", owner: 1 }

async function pendingOpening(reserve_tokens: number): Promise<PendingOpening> {
  const pending = await openPermit(
    {
      tenant: TENANT,
      program_id: "a1".repeat(32),
      route_id: "r",
      registry_record_hash: "b2".repeat(32),
      payload: "p",
      declared: {},
      declared_tokens: 0,
      origin: {
        source_ip_hash: ZERO_HASH,
        user_agent_hash: ZERO_HASH,
        authentication: { method: "api_key", api_key_id: 1, api_key_name: "k" },
      },
    },
    {
      audience: "payments",
      redeem_required: false,
      reserve_tokens,
      valid_for_seconds: 300,
      close_within_seconds: 300,
    },
    batchMoment(),
    batchPipeline,
  )
  if ("outcome_kind" in pending || "request" in pending) throw new Error("the opening was refused before its budget")
  return pending
}

/** An opening whose document does not verify. */
const spoilt = ({ sections, ...pending }: PendingOpening): PendingOpening => ({
  ...pending,
  sections: { ...sections, payload: { ...sections.payload, hash: WRONG } },
})

const pendingClose = (opening: Opening, pending: PendingOpening, total_tokens: number): Promise<PendingClose> =>
  closePermit(
    {
      tenant: TENANT,
      act: {
        outcome: "completed",
        ai_output_text: "done",
        declared: { request_substance: { cost: { total_tokens } } },
      },
      opening,
      seed: pending.run.facts.moment.seed,
      closed_clock: new Date(BATCH_TIME).toISOString(),
    },
    batchPipeline,
  )

/** A close whose stage 7 fails. */
const failingInLedger = ({ run, ...pending }: PendingClose): PendingClose => {
  const { texts } = run.facts
  const seal: WrittenTexts["seal"] = body => {
    if (Object.values(body).includes("vfa.pote_proof.v1")) throw new Error("stage 7 fails")
    return texts.seal(body)
  }
  return { ...pending, run: { ...run, facts: { ...run.facts, texts: { ...texts, seal } } } }
}

const before = growLog({ range: emptyRange, edges: [] })
for (let i = 0; i < 20; i++) before.append(Uint8Array.of(i))
const window_start = BATCH_TIME - (BATCH_TIME % 60_000)
const head = { tenant_id: TENANT.tenant_id, salt: ZERO_HASH, record_count: 4, run_count: 4, head: "e5".repeat(32) }
const window = { tenant_id: TENANT.tenant_id, window_seconds: 60, window_start, total: 100, movements: 3 }

type Work = {
  readonly closes?: readonly PendingClose[]
  readonly ends?: readonly PendingEnd[]
  readonly redemptions?: readonly PendingRedemption[]
  readonly openings?: readonly PendingOpening[]
}

/** A batch, and what its items were answered, by their index among their kind: why one was refused, undefined for one that failed. */
type PermitBatch = {
  readonly batch: Batch
  readonly runs: readonly (SealedRun | undefined)[]
  readonly openings: readonly (Opening | undefined)[]
  readonly redemptions: readonly unknown[]
}

/** The items are in the queue in the order in which a batch does not settle them. */
const seal = async (
  { closes = [], ends = [], redemptions = [], openings = [] }: Work,
  state: Partial<PermitLocks> = {},
  grown?: Batch,
  trust = batchTrust,
): Promise<PermitBatch> => {
  const start: BatchStart = {
    frontier: (grown?.log ?? before).frontier(),
    next_run_id: 8,
    tenants: grown?.tenants ?? new Map([[TENANT.tenant_id, head]]),
    attested: new Map(),
    time: BATCH_TIME / 1000,
    now: BATCH_TIME,
    permits: {
      permits: new Map(),
      windows: new Map([...(grown?.book.moved.values() ?? [window])].map(row => [windowName(row), row])),
      counts: new Map([[TENANT.owner, { permits: 0, open: 0, active: true }]]),
      now: BATCH_TIME,
      ...state,
    },
  }
  const sealed = {
    runs: new Map<OpenItem, SealedRun>(),
    openings: new Map<OpenItem, Opening>(),
    redemptions: new Map<OpenItem, unknown>(),
  }
  const items = {
    redemptions: redemptions.map(one => {
      const item = redemptionItem(one, at => void sealed.redemptions.set(item, at))
      return item
    }),
    openings: openings.map(one => {
      const item = openingItem(one, undefined, made => {
        if ("opening" in made) sealed.openings.set(item, made.opening)
      })
      return item
    }),
    ends: ends.map(one => endItem(one, () => undefined)),
    closes: closes.map(one => {
      const item = closeItem(one, undefined, run => void sealed.runs.set(item, run))
      return item
    }),
  }
  const { watch } = batchPipeline
  const reportFault = (): void => undefined
  const attempts = Object.values(items)
    .flat()
    .map(item => ({ item, open: item.open }))
  const batch = await buildBatch(attempts, start, {
    log: batchLog,
    verify: verifyHere(batchTrust),
    trust,
    reportFault,
    watch,
  })
  for (const { acknowledge } of batch.sealed) acknowledge()
  const refusalOf = (item: OpenItem): unknown => {
    const outcome = batch.outcomes.get(item)
    return outcome !== undefined && "refusal" in outcome ? outcome.refusal : undefined
  }
  return {
    batch,
    runs: items.closes.map(item => sealed.runs.get(item)),
    openings: items.openings.map(item => sealed.openings.get(item)),
    redemptions: items.redemptions.map(item => sealed.redemptions.get(item) ?? refusalOf(item)),
  }
}

/** A batch that opened one permit, and what a later batch finds of it. */
async function opened(reserved: number) {
  const pending = await pendingOpening(reserved)
  const { batch, openings } = await seal({ openings: [pending] })
  const [document] = openings
  if (document === undefined) throw new Error("the permit was not opened")
  const { permit_id, opening_hash } = document
  const { charge_id, cap } = pending.charge
  // Its time is over, for the batch that ends it.
  const times = { opened_at: 0, expires_at: BATCH_TIME - 2, close_by: BATCH_TIME - 1, due_at: BATCH_TIME - 1 }
  const unredeemed = { redeemed_at: 0, redemption_entry: "", redemption_unknown: false }
  const row = {
    permit_id,
    owner: 1,
    state: "open",
    charge_id,
    cap,
    reserved,
    ...times,
    ...unredeemed,
    opening_hash,
  } as const
  const permits = new Map([[permit_id, { ...row, window_seconds: 60, window_start }]])
  return { batch, document, pending, state: { permits } }
}

const movesOf = ({ batch: { book } }: PermitBatch) =>
  book.movements.map(({ kind, ordinal, tokens }) => [kind, ordinal, tokens])

test("an opening that does not verify is refused alone, and the movements after it are numbered without it", async () => {
  const pending = await Promise.all([10, 20, 30].map(pendingOpening))
  const openings = pending.map((one, at) => (at === 1 ? spoilt(one) : one))
  const sealed = await seal({ openings })
  expect(sealed.openings.map(opening => opening?.reservation.total_after)).toEqual([110, undefined, 140])
  expect(movesOf(sealed)).toEqual([
    ["reserve", 4, 10],
    ["reserve", 5, 30],
  ])
  expect(sealed.openings.map(opening => opening?.leaf.tenant_ordinal)).toEqual([5, undefined, 6])
  expect(sealed.batch.sealed).toHaveLength(2)
})

test("a close that fails after the log is a stage_error that keeps its permit and its settlement", async () => {
  const { batch: first, document, pending, state } = await opened(50)
  const close = failingInLedger(await pendingClose(document, pending, 20))
  const sealed = await seal({ closes: [close] }, state, first)
  const [run] = sealed.runs
  expect(run?.bundle.run.outcome_kind).toBe("stage_error")
  expect(run?.bundle.sections).toMatchObject({
    permit: { permit_id: document.permit_id },
    budget_snapshot: { window: { tokens: 20, reserved: 50, ordinal: 5 } },
  })
  expect(movesOf(sealed)).toEqual([["settle", 5, -30]])
})

test("a close that can be no record is refused, and its permit stays as it was: another may close it", async () => {
  const { batch: first, document, pending, state } = await opened(50)
  const close = await pendingClose(document, pending, 20)
  const { run } = close
  const { payload } = run.base
  const broken = { ...close, run: { ...run, base: { ...run.base, payload: { ...payload, hash: WRONG } } } }
  const alone = await seal({ closes: [broken] }, state, first)
  expect([alone.runs, movesOf(alone), alone.batch.entries]).toEqual([[undefined], [], []])
  const sealed = await seal({ closes: [broken, close] }, state, first)
  expect(sealed.runs.map(run => run?.bundle.run.outcome_kind)).toEqual([undefined, "ok"])
  expect(movesOf(sealed)).toEqual([["settle", 5, -30]])
})

test("an opening, a run's close and an end take their places in the chain in this order of the log", async () => {
  const [one, two] = [await opened(5), await opened(6)]
  const close = await pendingClose(one.document, one.pending, 5)
  const permits = new Map([...one.state.permits, ...two.state.permits])
  const end = { tenant: TENANT, permit_ids: [two.document.permit_id], reason: "expired" as const }
  const sealed = await seal(
    { openings: [await pendingOpening(7)], closes: [close], ends: [end] },
    { permits },
    one.batch,
  )
  const places = sealed.batch.sealed.map(({ rows: { document } }) => [document?.kind, document?.chain_ordinal])
  expect(places).toEqual([
    ["bundle", 6],
    ["opening", 7],
    ["permit_end", 8],
  ])
  expect(sealed.batch.tenants.get(TENANT.tenant_id)).toMatchObject({ record_count: 8, run_count: 5 })
  expect(movesOf(sealed)).toEqual([
    ["settle", 5, 0],
    ["release", 6, -6],
    ["reserve", 7, 7],
  ])
})

test("a redemption is an entry behind the documents of its batch, which the close of a later batch holds", async () => {
  const { batch: first, document, pending, state } = await opened(50)
  const { permit_id } = document
  const [row] = state.permits.values()
  if (row === undefined) throw new Error("the permit is there")
  const open = { ...row, expires_at: BATCH_TIME + 1, close_by: BATCH_TIME + 2, due_at: BATCH_TIME + 2 }
  const redemption = { owner: TENANT.owner, permit_id }
  const redeemed = await seal(
    { redemptions: [redemption, redemption], openings: [await pendingOpening(1)] },
    { permits: new Map([[permit_id, open]]) },
    first,
  )
  expect(redeemed.redemptions[1]).toMatchObject({ reason: "redeemed" })
  expect(redeemed.batch.entries).toHaveLength(2)
  const [made] = redeemed.batch.sealed.flatMap(({ rows }) => rows.redemption ?? [])
  if (made === undefined) throw new Error("the first is redeemed")
  const entry = JSON.parse(made.redemption_entry)
  expect(Number(entry.logIndex)).toBe(redeemed.batch.entries[1]?.index)
  const close = await pendingClose(document, pending, 20)
  const permits = new Map([[permit_id, { ...open, ...made }]])
  const closed = await seal({ closes: [close], redemptions: [redemption] }, { permits }, redeemed.batch)
  expect(closed.redemptions[0]).toMatchObject({ reason: "not_open" })
  expect(closed.runs[0]?.bundle.sections.permit).toMatchObject({ redemption: { entry } })
})

test("a redemption whose entry does not verify is refused alone", async () => {
  const { batch: first, document, state } = await opened(50)
  const [row] = state.permits.values()
  if (row === undefined) throw new Error("the permit is there")
  const permits = new Map([[document.permit_id, { ...row, expires_at: BATCH_TIME + 1 }]])
  const redemption = { owner: TENANT.owner, permit_id: document.permit_id }
  const other = { ...batchTrust, logKeys: [] }
  const sealed = await seal({ redemptions: [redemption] }, { permits }, first, other)
  expect([sealed.redemptions, sealed.batch.entries]).toEqual([[undefined], []])
})
