/** What needs attention now, of what a caller sees. docs/api.md, "What needs attention". */
import { CLOSE_SECONDS_MAX, REDEEMED_VALID_SECONDS_MAX } from "@runseal/core/artifacts/opening"
import { windowStart } from "@runseal/core/formulas/decision"
import {
  ATTENTION_ITEMS_MAX,
  ATTENTION_KINDS,
  type AttentionAnswer,
  type AttentionKind,
  DENYING_LEAST,
  DENYING_TIMES,
  LOG_ATTENTION_KINDS,
} from "@runseal/core/wire/attention-answer"
import { outsideTroubles, type WitnessTroubles, witnessTroubles } from "@runseal/core/wire/log-troubles"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { readDeliveries } from "../../outbound/deliveries/destination-states.ts"
import { readStandings } from "../../outbound/outbox/delivery-state.ts"
import type { Owners } from "../../store/tables/all-owners.ts"
import {
  approvalsForPerson,
  type FullBudget,
  fullBudgets,
  type UrgentPermit,
  urgentPermits,
  type WaitingApproval,
  waitingApprovals,
} from "../../store/tables/attention-reads.ts"
import { readHead } from "../../store/tables/log-store.ts"
import { countDenied, countOutcomesOverTime } from "../../store/tables/overview-reads.ts"
import { listPasskeys } from "../../store/tables/passkeys-table.ts"
import { type Caller, callerOf, identityOf } from "../access/caller.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { approverOf } from "./approvals-routes.ts"
import { denyingRules } from "./overview-route.ts"

const DAY_MS = 86_400_000
/** A permit that ended within the last day was opened since. */
const PERMIT_LIFE_MS = (REDEEMED_VALID_SECONDS_MAX + CLOSE_SECONDS_MAX) * 1000
/** Seconds by which clocks may differ. */
const CLOCK_TOLERANCE = 5
/** For so long what was counted of denials is given again: it changes slowly. */
const DENIED_FOR_MS = 60_000
/** Callers whose counts are remembered: auditors of named keys have their own. */
const DENIED_REMEMBERED = 64

type Found = AttentionAnswer["found"]
type Part = { readonly asked: readonly AttentionKind[]; readonly found: Found }
type Several<Kind extends AttentionKind> = NonNullable<Found[Kind]>

const timestamp = (ms: number): string => new Date(ms).toISOString()

/** Nothing where there is none: what is well is left out. */
function several<Item>(items: readonly Item[], count: number = items.length) {
  return items.length === 0 ? undefined : { count, first: items.slice(0, ATTENTION_ITEMS_MAX) }
}

/** A member without a value is none. */
const present = (found: { readonly [Kind in AttentionKind]?: Found[Kind] | undefined }): Found =>
  Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))

export function attentionRoutes(deps: Deps): Handlers {
  const { db, growth, nowMs } = deps
  const denying = rememberDenials(deps)
  return {
    attention: async (c, { query }) => {
      const { after, wait = 0 } = query()
      const caller = callerOf(c)
      if (after !== undefined && wait > 0) await growth.wait(waiterOf(c), after, wait * 1000, c.req.raw.signal)
      const at = nowMs()
      // Read first: what is sealed meanwhile is asked for once more.
      const { size } = await readHead(db)
      const parts = await Promise.all(partsOf(deps, caller, at, denying))
      const asked = new Set(parts.flatMap(part => part.asked))
      return c.json({
        ok: true,
        at: timestamp(at),
        log_size: size,
        asked: ATTENTION_KINDS.filter(kind => asked.has(kind)),
        found: parts.reduce<Found>((all, { found }) => ({ ...all, ...found }), {}),
      } satisfies AttentionAnswer)
    },
  }
}

/** A session waits once, whatever windows it has; so does a key without one. */
const waiterOf = (c: Context): string => c.get("session")?.csrf_token ?? identityOf(callerOf(c))

function partsOf(deps: Deps, caller: Caller, at: number, denying: Denials): readonly Promise<Part>[] {
  const { scope } = caller
  const approver = approverOf(caller)
  const forPerson = approver === undefined ? [] : [personPart(deps, approver, at)]
  if (scope === "approver") return forPerson
  if (scope === "customer") return [...forPerson, ownersPart(deps, [caller.api_key_id], at)]
  const owners = caller.reads
  return [
    ...forPerson,
    ownersPart(deps, owners, at),
    approvalsPart(deps, owners, at),
    servicePart(deps, at),
    denying(owners, at),
    ...(owners === undefined ? [receiversPart(deps, at)] : []),
    ...(scope === "admin" && caller.person !== undefined ? [passkeysPart(deps, caller.person, at)] : []),
  ]
}

async function personPart({ db }: Deps, approver: Parameters<typeof approvalsForPerson>[1], at: number): Promise<Part> {
  const found = await approvalsForPerson(db, approver, at)
  return { asked: ["approvals_for_you"], found: present({ approvals_for_you: approvalsOf(found) }) }
}

const approvalsOf = (rows: readonly WaitingApproval[]): Several<"waiting_approvals"> | undefined =>
  several(
    rows.map(({ approval_id, route_id, expires_at }) => ({ approval_id, route_id, expires_at: timestamp(expires_at) })),
    rows[0]?.matching,
  )

async function approvalsPart({ db }: Deps, owners: Owners, at: number): Promise<Part> {
  const found = approvalsOf(await waitingApprovals(db, owners, at))
  return { asked: ["waiting_approvals"], found: present({ waiting_approvals: found }) }
}

/** Budgets and permits of keys. */
async function ownersPart({ db, budgets }: Deps, owners: Owners, at: number): Promise<Part> {
  const { window_seconds, window_tokens: cap } = budgets
  const window_start = windowStart(at, window_seconds)
  const ends_at = timestamp(window_start + window_seconds * 1000)
  const windows = await fullBudgets(db, owners, { cap, window_seconds, window_start })
  const ofFull = (wanted: boolean): Several<"full_budgets"> | undefined => {
    const rows = windows.filter(({ is_full }) => is_full === wanted)
    return several(
      rows.map(({ key_id, name, total, cap }: FullBudget) => ({ key_id, name, total, cap, ends_at })),
      rows[0]?.matching,
    )
  }
  const times = { now: at, opened_after: at - DAY_MS - PERMIT_LIFE_MS, ended_after: at - DAY_MS }
  const permits = await urgentPermits(db, owners, times)
  return {
    asked: ["full_budgets", "near_budgets", "ending_permits", "unreported_permits"],
    found: present({
      full_budgets: ofFull(true),
      near_budgets: ofFull(false),
      ending_permits: permitsOf(permits, "open"),
      unreported_permits: permitsOf(permits, "ended"),
    }),
  }
}

function permitsOf(
  permits: readonly UrgentPermit[],
  wanted: UrgentPermit["state"],
): Several<"ending_permits"> | undefined {
  const rows = permits.filter(({ state }) => state === wanted)
  return several(
    rows.map(({ permit_id, owner: key_id, route_id, close_by, redeemed_at }) => ({
      permit_id,
      key_id,
      route_id,
      close_by: timestamp(close_by),
      redeemed: redeemed_at > 0,
    })),
    rows[0]?.matching,
  )
}

/** Whether records can be sealed, the clock, witnesses and outside logs. */
async function servicePart({ db, readiness, showWitnesses }: Deps, at: number): Promise<Part> {
  const [ready, known, head, logs] = await Promise.all([
    readiness(),
    showWitnesses(),
    readHead(db),
    readStandings(db, at),
  ])
  const signed = known.witnesses.flatMap(({ name, asked, cosigned_at }) =>
    asked && cosigned_at !== undefined ? [{ by: name, seconds: secondsAhead(Date.parse(cosigned_at), at) }] : [],
  )
  const clocks = [{ by: "the log", seconds: secondsAhead(head.log_time * 1000, at) }, ...signed]
  const { contradicting, silent, unwitnessed } = witnessTroubles(known, at)
  const { failing, late } = outsideTroubles(logs)
  return {
    asked: LOG_ATTENTION_KINDS,
    found: present({
      contradicting_witnesses: several(contradicting.map(({ name }) => ({ name }))),
      not_ready: several(ready.ready ? [] : [{ error: ready.reason }]),
      clock_behind: several(clocks.filter(({ seconds }) => seconds > CLOCK_TOLERANCE)),
      not_witnessed: several(unwitnessed),
      silent_witnesses: several(silent.map(silentOf)),
      failing_outside_logs: several(failing),
      late_outside_logs: several(late),
    }),
  }
}

const silentOf = ({ name, cosigned_at, fault }: WitnessTroubles["silent"][number]) => ({
  name,
  ...(cosigned_at === undefined ? {} : { cosigned_at }),
  ...(fault === undefined ? {} : { fault }),
})

const secondsAhead = (of: number, at: number): number => Math.floor((of - at) / 1000)

async function receiversPart({ db }: Deps, at: number): Promise<Part> {
  const failing = (await readDeliveries(db, at)).flatMap(({ id, name, active, last_error, failing_since, backlog }) =>
    active && last_error !== undefined && failing_since !== undefined
      ? [{ id, name, fault: last_error.fault, failing_since, backlog }]
      : [],
  )
  return { asked: ["failing_receivers"], found: present({ failing_receivers: several(failing) }) }
}

async function passkeysPart(
  { db }: Deps,
  person: { readonly issuer: string; readonly subject: string },
  at: number,
): Promise<Part> {
  const isOwn = (one: typeof person): boolean => one.issuer === person.issuer && one.subject === person.subject
  const state = { name: "pending", at } as const
  const [all, own] = await Promise.all([
    listPasskeys(db, { person: undefined, first: undefined, state, limit: ATTENTION_ITEMS_MAX }),
    listPasskeys(db, { person, first: undefined, state, limit: 1 }),
  ])
  const subjects = all.rows.filter(row => !isOwn(row)).map(({ subject }) => ({ subject }))
  const count = all.total - own.total
  const waiting = count === 0 ? undefined : { count, first: subjects }
  return { asked: ["waiting_passkeys"], found: present({ waiting_passkeys: waiting }) }
}

type Denials = (owners: Owners, at: number) => Promise<Part>

/** Rules that deny far more often than in the week before. Counted once a minute. */
function rememberDenials(deps: Pick<Deps, "db" | "signatureIds">): Denials {
  const counted = new Map<string, { readonly at: number; readonly part: Promise<Part> }>()
  return (owners, at) => {
    const whose = JSON.stringify(owners ?? null)
    const before = counted.get(whose)
    if (before !== undefined && at - before.at < DENIED_FOR_MS && at >= before.at) return before.part
    const [oldest] = counted.size >= DENIED_REMEMBERED ? counted.keys() : []
    if (oldest !== undefined) counted.delete(oldest)
    const part = denialsPart(deps, owners, at).catch((error: unknown) => {
      counted.delete(whose)
      throw error
    })
    counted.set(whose, { at, part })
    return part
  }
}

async function denialsPart(deps: Pick<Deps, "db" | "signatureIds">, owners: Owners, at: number): Promise<Part> {
  const rules = await denyingRules(deps)
  const day = at - DAY_MS
  const lately = (await countDenied(deps.db, owners, [day, at + 1], rules)).filter(({ runs }) => runs >= DENYING_LEAST)
  const ids = lately.map(({ rule_id }) => rule_id)
  const earlier = ids.length === 0 ? [] : await countDenied(deps.db, owners, [day - 7 * DAY_MS, day], ids)
  const before = new Map(earlier.map(({ rule_id, runs }) => [rule_id, runs]))
  // In its first week a deployment has nothing to compare with.
  const counts = ids.length === 0 ? [] : await countOutcomesOverTime(deps.db, owners, [day - 7 * DAY_MS, day])
  const more = (counts.length === 0 ? [] : lately)
    .map(({ rule_id, runs }) => ({ rule_id, runs, runs_before: before.get(rule_id) ?? 0 }))
    .filter(({ runs, runs_before }) => runs * 7 >= DENYING_TIMES * runs_before)
    .toSorted((one, other) => other.runs - one.runs)
  return { asked: ["denying_rules"], found: present({ denying_rules: several(more) }) }
}
