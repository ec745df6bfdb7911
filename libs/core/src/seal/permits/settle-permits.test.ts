/** What the permits of one batch move, and what becomes of each item. */
import { canonicalize } from "@runseal/canonical"
import { expect, test } from "vitest"
import { makeDeployment } from "../../../test/fixtures/deployment.ts"
import { openPermit as openFixture } from "../../../test/fixtures/permits.ts"
import { NOTHING_TO_GOVERN, POLICY } from "../../../test/fixtures/samples.ts"
import { ZERO_HASH } from "../../vocabulary/scalars.ts"
import { closePermit, openPermit, type PermitContext } from "../pipeline.ts"
import type { PendingClose, PendingOpening } from "../settlement.ts"
import type { LockedPermit } from "./locked-permit.ts"
import { OPEN_PERMITS_MAX } from "./pending.ts"
import {
  closeIn,
  endIn,
  openBook,
  openIn,
  type PendingEnd,
  type PendingRedemption,
  type PermitLocks,
  redeemIn,
} from "./settle-permits.ts"
import { windowName } from "./windows.ts"

const NOW = Date.parse("2026-05-04T12:00:00.000Z")
const TENANT = { tenant_id: "api-key-1", owner: 1 }
const WINDOW = { window_seconds: 3600, window_start: NOW }
const SALT = "5a".repeat(32)

const permitOf = (permit_id: string, reserved: number, changes: Partial<LockedPermit> = {}): LockedPermit => ({
  permit_id,
  owner: TENANT.owner,
  state: "open",
  charge_id: `charge of ${permit_id}`,
  ...WINDOW,
  cap: 1000,
  reserved,
  opened_at: NOW - 100,
  expires_at: NOW - 2,
  close_by: NOW - 1,
  due_at: NOW - 1,
  redeemed_at: 0,
  redemption_entry: "",
  redemption_unknown: false,
  opening_hash: "0b".repeat(32),
  ...changes,
})

const stateOf = (total: number, permits: readonly LockedPermit[] = [], open = permits.length): PermitLocks => ({
  permits: new Map(permits.map(permit => [permit.permit_id, permit])),
  windows: new Map([
    [windowName({ ...TENANT, ...WINDOW }), { tenant_id: TENANT.tenant_id, ...WINDOW, total, movements: 5 }],
  ]),
  counts: new Map([[TENANT.owner, { permits: 20, open, active: true }]]),
  now: NOW,
})

const OPENING = openFixture(makeDeployment()).opening
/** Of a permit, with any entry. */
const REDEEMED = { redeemed_at: NOW - 5, redemption_entry: canonicalize(OPENING.entry) }

const ALLOWED = {
  decision: "allow",
  fired_rule_id: "permit",
  decision_reason_code: "RULE_ALLOWED",
  matched_rule_ids: [],
} as const

const CONTEXT: PermitContext = {
  policy: {
    ...POLICY,
    required_attested_fields: [],
    readerOf: () => undefined,
    reads: new Set(),
    named_groups: undefined,
    decide: () => ({ decision: ALLOWED }),
  },
  library: { library_hash: "1b".repeat(32) },
  scan: async () => undefined,
  readPayload: async () => ({ payload_is_json: false }),
  region: "eu",
  max_scan_units: 1000,
  budgets: { run_tokens: 1000, window_tokens: 1000, window_seconds: WINDOW.window_seconds },
  system_provenance: OPENING.sections.system_provenance,
  askReview: async () => NOTHING_TO_GOVERN,
  watch: { monotonicMs: () => 0, follow: (_stage, _run, work) => work() },
}

const { program_id, route_id, registry_record_hash } = OPENING.sections.envelope
const MOMENT = { at: new Date(NOW).toISOString(), nonce: "0e".repeat(32), seed: "5e".repeat(32) }

const opened = await openPermit(
  {
    tenant: TENANT,
    program_id,
    route_id,
    registry_record_hash,
    payload: "p",
    declared: {},
    declared_tokens: 0,
    origin: {
      source_ip_hash: ZERO_HASH,
      user_agent_hash: ZERO_HASH,
      authentication: { method: "api_key", api_key_id: 1 },
    },
  },
  { audience: "payments", redeem_required: false, reserve_tokens: 1, valid_for_seconds: 60, close_within_seconds: 60 },
  MOMENT,
  CONTEXT,
)
if ("outcome_kind" in opened || "request" in opened) throw new Error("the opening was refused before its budget")

const closed = await closePermit(
  {
    tenant: TENANT,
    act: { outcome: "completed", declared: {} },
    opening: OPENING,
    seed: MOMENT.seed,
    closed_clock: MOMENT.at,
  },
  CONTEXT,
)

/** The opening of a permit of that name. */
const opening = (permit_id: string, tokens: number): PendingOpening => ({
  ...opened,
  run: { ...opened.run, spending: { ...opened.run.spending, tokens } },
  terms: { ...opened.terms, permit_id, reserve_tokens: tokens },
  charge: { ...opened.charge, charge_id: `charge of ${permit_id}`, tokens },
})

/** The close of a permit of that name. */
const close = (permit_id: string, tokens: number): PendingClose => ({
  ...closed,
  permit_id,
  run: { ...closed.run, spending: { ...closed.run.spending, tokens } },
})

type Work = {
  readonly closes?: readonly PendingClose[]
  readonly ends?: readonly PendingEnd[]
  readonly redemptions?: readonly PendingRedemption[]
  readonly openings?: readonly PendingOpening[]
}

/** What one thing after the other comes to: closes, then ends, redemptions and openings, as a batch settles them. */
function settle({ closes = [], ends = [], redemptions = [], openings = [] }: Work, state: PermitLocks) {
  const book = openBook(state)
  const each = <Item, Made>(items: readonly Item[], work: (item: Item) => Made) =>
    items.map((item): Made | { readonly refusal: unknown } => {
      try {
        return work(item)
      } catch (refusal) {
        return { refusal }
      }
    })
  return {
    closes: each(closes, close => ({ run: closeIn(book, close, CONTEXT.watch) })),
    ends: each(ends, end => ({ end: endIn(book, end, SALT) })),
    redemptions: each(redemptions, one => ({ redeemed: redeemIn(book, one) })),
    openings: each(openings, opening => openIn(book, opening)),
    movements: book.movements,
    windows: [...book.moved.values()],
  }
}

/** The windows as the closes and the openings will show them. */
const windowsOf = ({ closes, openings }: ReturnType<typeof settle>) =>
  [...closes, ...openings].flatMap(made => {
    if ("refusal" in made) return []
    return ("opening" in made ? made.opening.reservation : made.run.sections.budget_snapshot?.window) ?? []
  })
const movesOf = ({ movements }: ReturnType<typeof settle>) =>
  movements.map(({ kind, ordinal, tokens, total_after }) => [kind, ordinal, tokens, total_after])
const refusal = (reason: string) => ({ refusal: expect.objectContaining({ name: "PermitRefusal", reason }) })

test("closes come first, then ends, then openings: what is given back can be reserved again", () => {
  const state = stateOf(900, [permitOf("a", 100), permitOf("b", 200)])
  const end = { tenant: TENANT, permit_ids: ["b"], reason: "expired" as const }
  const settled = settle({ openings: [opening("c", 350)], ends: [end], closes: [close("a", 30)] }, state)
  expect(movesOf(settled)).toEqual([
    ["settle", 6, -70, 830],
    ["release", 7, -200, 630],
    ["reserve", 8, 350, 980],
  ])
  expect(settled.windows).toEqual([{ tenant_id: TENANT.tenant_id, ...WINDOW, total: 980, movements: 8 }])
  expect(
    windowsOf(settled).map(({ charge_id, tokens, reserved, total_after }) => [
      charge_id,
      tokens,
      reserved,
      total_after,
    ]),
  ).toEqual([
    ["charge of a", 30, 100, 830],
    ["charge of c", 350, undefined, 980],
  ])
})

test("tokens beyond the reservation are a charge behind the settlement, and its number is the close's", () => {
  const settled = settle({ closes: [close("a", 130)] }, stateOf(900, [permitOf("a", 100, REDEEMED)]))
  expect(movesOf(settled)).toEqual([
    ["settle", 6, 0, 900],
    ["charge", 7, 30, 930],
  ])
  expect(windowsOf(settled)).toMatchObject([{ ordinal: 7, tokens: 130, reserved: 100, total_after: 930 }])
  const redemption = { redeemed_clock: "2026-05-04T11:59:59.995Z", entry: OPENING.entry }
  expect(settled.closes).toMatchObject([{ run: { sections: { permit: { redemption } } } }])
})

test("a reservation that reaches the cap moves nothing, has no number, and says what the total would have been", () => {
  const settled = settle({ openings: [opening("a", 100), opening("b", 99), opening("c", 1)] }, stateOf(900))
  expect(movesOf(settled)).toEqual([["reserve", 6, 99, 999]])
  expect(windowsOf(settled).map(({ ordinal, total_after }) => [ordinal, total_after])).toEqual([
    [undefined, 1000],
    [6, 999],
    [undefined, 1000],
  ])
  expect(settled.openings.map(made => Object.keys(made))).toEqual([["run"], ["opening"], ["run"]])
})

test("a permit ends as expired once its time is over, by the clock of its end, and as revoked at any time", () => {
  const permits = [permitOf("a", 10, { close_by: NOW }), permitOf("b", 10, { close_by: NOW - 1 })]
  const ended = (reason: "expired" | "revoked", ...permit_ids: readonly string[]) =>
    settle({ ends: [{ tenant: TENANT, permit_ids, reason }] }, stateOf(500, permits))
  expect(movesOf(ended("expired", "a", "b"))).toEqual([["release", 6, -10, 490]])
  expect(ended("expired", "a").ends).toEqual([refusal("not_open")])
  expect(movesOf(ended("revoked", "a"))).toEqual([["release", 6, -10, 490]])
})

test("a permit is settled once in a batch, by its owner, while it is open", () => {
  const permits = [permitOf("a", 10), permitOf("b", 10, { state: "ended" }), permitOf("c", 10, { owner: 2 })]
  const end = { tenant: TENANT, permit_ids: ["a", "b"], reason: "expired" as const }
  const closes = [close("a", 1), close("a", 1), close("b", 1), close("c", 1), close("unknown", 1)]
  const settled = settle({ closes, ends: [end] }, stateOf(500, permits))
  expect(settled.closes.slice(1)).toEqual(closes.slice(1).map(() => refusal("not_open")))
  expect(settled.ends).toEqual([refusal("not_open")])
  expect(settled.movements).toHaveLength(1)
})

test("an item that fails moves nothing, and those after it are numbered without it", () => {
  const { run, ...pending } = close("a", 5)
  const seal = (): never => {
    throw new Error("a bug")
  }
  const failing = { ...pending, run: { ...run, facts: { ...run.facts, texts: { ...run.facts.texts, seal } } } }
  const settled = settle({ closes: [failing, close("b", 4)] }, stateOf(500, [permitOf("a", 10), permitOf("b", 10)]))
  expect(settled.closes[0]).toMatchObject({ refusal: { message: "a bug" } })
  expect(movesOf(settled)).toEqual([["settle", 6, -6, 494]])
})

test("a key has at most so many open permits; a close in the same batch makes room for one", () => {
  const state = stateOf(10, [permitOf("a", 10)], OPEN_PERMITS_MAX)
  const openings = [opening("b", 1), opening("c", 1)]
  expect(settle({ openings }, state).openings).toEqual([refusal("too_many_open"), refusal("too_many_open")])
  const settled = settle({ closes: [close("a", 0)], openings }, state)
  expect(settled.openings).toEqual([{ opening: expect.objectContaining({ permit_id: "b" }) }, refusal("too_many_open")])
})

test("a key that was revoked opens nothing", () => {
  const state = { ...stateOf(0), counts: new Map([[TENANT.owner, { permits: 0, open: 0, active: false }]]) }
  expect(settle({ openings: [opening("a", 1)] }, state).openings).toEqual([refusal("revoked")])
})

test("a total beyond 2^53−1 is refused alone", () => {
  const state = stateOf(Number.MAX_SAFE_INTEGER - 5, [permitOf("a", 5)])
  const settled = settle({ closes: [close("a", 16)], openings: [opening("b", 6)] }, state)
  expect([settled.closes[0], settled.openings[0]]).toEqual([refusal("overflow"), refusal("overflow")])
  expect(settled.movements).toEqual([])
})

test("an end releases what an unredeemed permit reserved, and leaves what a redeemed one reserved in the window", () => {
  const end = { tenant: TENANT, permit_ids: ["a", "b"], reason: "expired" as const }
  const settled = settle({ ends: [end] }, stateOf(900, [permitOf("a", 100), permitOf("b", 30, REDEEMED)]))
  expect(movesOf(settled)).toEqual([
    ["release", 6, -100, 800],
    ["settle", 7, 0, 800],
  ])
  expect(settled.ends[0]).toMatchObject({
    end: {
      openings: [
        { permit_id: "a", released: 100, total_after: 800 },
        { permit_id: "b", charged: 30, total_after: 800, redemption: { redeemed_clock: "2026-05-04T11:59:59.995Z" } },
      ],
    },
  })
})

test("a redemption is refused by what the batch finds: closed, ended, another's, redeemed, expired, or its key revoked", () => {
  const open = { expires_at: NOW + 1, close_by: NOW + 2, due_at: NOW + 2 }
  const permits = [
    permitOf("open", 1, open),
    permitOf("closing", 1, open),
    permitOf("closed", 1, { ...open, state: "closed" }),
    permitOf("another's", 1, { ...open, owner: 2 }),
    permitOf("redeemed", 1, { ...open, ...REDEEMED }),
    permitOf("expired", 1, { ...open, expires_at: NOW }),
    permitOf("revoked", 1, { ...open, due_at: 0 }),
    permitOf("doubted", 1, { ...open, redemption_unknown: true }),
  ]
  const asked = [...permits.map(({ permit_id }) => permit_id), "open"]
  const redemptions = asked.map(permit_id => ({ owner: TENANT.owner, permit_id }))
  const settled = settle({ closes: [close("closing", 0)], redemptions }, stateOf(900, permits))
  expect(settled.redemptions).toEqual([
    {
      redeemed: {
        leaf_version: "vfa.redemption_leaf.v1",
        permit_id: "open",
        redeemed_clock: new Date(NOW).toISOString(),
      },
    },
    ...["not_open", "not_open", "not_open", "redeemed", "expired", "not_open", "unknown", "redeemed"].map(reason => ({
      refusal: expect.objectContaining({ reason }),
    })),
  ])
  expect(movesOf(settled)).toEqual([["settle", 6, -1, 899]])
})
