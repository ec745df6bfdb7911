/** What the deployment is set to, what its keys use, and what administrators did. docs/api.md, "The deployment". */
import { parseStrictJson } from "@runseal/canonical"
import { type AdminEvent, adminEventSchema, eventFactsSchema } from "@runseal/core/artifacts/admin-event"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { windowStart } from "@runseal/core/formulas/decision"
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import type { EventsPage, KeyUsage, ListedEvent, PolicyInForce, UsageAnswer } from "@runseal/core/wire/admin-answers"
import { PAGE_LIMIT_DEFAULT } from "@runseal/core/wire/run-summaries"
import type { Deps } from "../../deps.ts"
import { notFound } from "../../http-error.ts"
import { DEPLOYMENT } from "../../sealing/seal-events.ts"
import { factsOfRow, findEvent, type ListedEventRow, listEvents } from "../../store/tables/admin-events.ts"
import { type KeyUsageRow, readOutcomeCounts, readUsage } from "../../store/tables/api-keys.ts"
import type { OutcomeCountRow } from "../../store/tables/runs-table.ts"
import { callerOf } from "../access/caller.ts"
import { TRIAL_CAP } from "../access/trial-quota.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { asRange, nextOf } from "../query.ts"
import { sendExport } from "./export-routes.ts"
import { readsOwner, refuseNamed } from "./run-views.ts"

const timestamp = (ms: number): string => new Date(ms).toISOString()

export function usageRoutes(deps: Deps): Handlers {
  return {
    usage: async c => {
      await deps.keys.usesNoted()
      const at = deps.nowMs()
      const { window_seconds } = deps.budgets
      const window_start = windowStart(at, window_seconds)
      const times = { window_seconds, window_start, trial_since: at - TRIAL_CAP.period_ms }
      const counts = await readOutcomeCounts(deps.db)
      const rows = (await readUsage(deps.db, times)).filter(row => readsOwner(callerOf(c), row.key_id))
      const window = { window_start: timestamp(window_start), window_seconds }
      const keys = rows.map(row => keyUsage(row, counts, { ...window, cap: deps.budgets.window_tokens }))
      return c.json({ ok: true, at: timestamp(at), keys } satisfies UsageAnswer)
    },
    policy: c => {
      const { row, compiled } = deps.policies.inForce()
      const { policy_id, policy_hash, preimage: policy } = compiled
      const active_since = timestamp(row.active_since)
      const { signatures } = deps
      return c.json({ ok: true, policy_id, policy_hash, policy, active_since, signatures } satisfies PolicyInForce)
    },
  }
}

function keyUsage(
  row: KeyUsageRow,
  counts: readonly OutcomeCountRow[],
  { cap, ...window }: Omit<KeyUsage["window"], "runs" | "total">,
): KeyUsage {
  const own = new Map(counts.filter(({ owner }) => owner === row.key_id).map(each => [each.outcome_kind, each.runs]))
  const runsOf = (kind: OutcomeKind): number => own.get(kind) ?? 0
  const { scope, tier } = row
  const own_cap = row.window_token_budget < 0 ? cap : row.window_token_budget
  return {
    key_id: row.key_id,
    name: row.name,
    ...(scope === "" || tier === ""
      ? {}
      : { scope, tier, last_used_at: row.last_used_at === 0 ? null : timestamp(row.last_used_at) }),
    revoked: row.revoked_at !== 0,
    runs: OUTCOME_KINDS.reduce((sum, kind) => sum + runsOf(kind), 0),
    outcomes: {
      ok: runsOf("ok"),
      pepg_deny: runsOf("pepg_deny"),
      ccv_halt: runsOf("ccv_halt"),
      macc_halt: runsOf("macc_halt"),
      aivp_t4_halt: runsOf("aivp_t4_halt"),
      attestation_gap: runsOf("attestation_gap"),
      stage_error: runsOf("stage_error"),
    },
    tokens: row.tokens,
    open_permits: row.open_permits,
    window: { ...window, runs: row.window_runs, total: row.window_total, cap: own_cap },
    ...(tier === "trial" ? { trial: { used: row.admitted, left: Math.max(0, TRIAL_CAP.runs - row.admitted) } } : {}),
  }
}

/** For administrators, and for auditors who read all keys. */
export function auditRoutes(deps: Deps): Handlers {
  return {
    admin_events: async (c, { query }) => {
      refuseNamed(c)
      const { limit = PAGE_LIMIT_DEFAULT, before, ...filters } = query()
      const rows = await listEvents(deps.db, filters, { limit, before })
      const next = nextOf(rows, limit, ({ ordinal }) => ordinal)
      return c.json({ ok: true, limit, events: rows.map(listedEvent), ...next } satisfies EventsPage)
    },
    export_admin_events: (c, { query }) => {
      refuseNamed(c)
      return sendExport(c, deps, DEPLOYMENT, asRange(query()))
    },
    admin_event: async c => {
      refuseNamed(c)
      const text = c.req.param("ordinal") ?? ""
      const stored = /^[1-9]\d{0,14}$/.test(text) ? await findEvent(deps.db, Number(text)) : undefined
      if (stored === undefined) throw notFound("There is no such admin event, or it is not sealed yet.")
      return c.body(stored, 200, { "Content-Type": "application/json" })
    },
  }
}

/** @throws Error when the database was changed from outside */
function listedEvent(row: ListedEventRow): ListedEvent {
  const facts = parseExact(eventFactsSchema, factsOfRow(row))
  if (!facts.ok) throw new Error(`the stored admin event ${row.ordinal} is unreadable`)
  const { ordinal, log_index } = row
  if (log_index === 0) return { ordinal, ...facts.value }
  const { seal_clock, event_hash } = storedEvent(row)
  return { ordinal, ...facts.value, sealed: { seal_clock, event_hash, log_index } }
}

function storedEvent({ ordinal, document }: ListedEventRow): AdminEvent {
  const stored = parseExact(adminEventSchema, parseStrictJson(document ?? ""))
  if (!stored.ok) throw new Error(`the sealed admin event ${ordinal} is unreadable`)
  return stored.value
}
