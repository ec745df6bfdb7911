/** Runs and permits of all keys, for administrators and auditors. docs/api.md, "The deployment". */
import { placeOf, placeText } from "@runseal/api/queries"
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import {
  type AdminPermitRecord,
  type AdminPermitsPage,
  type AdminRunRecord,
  type AdminRunsPage,
  COUNTED_RUNS_MAX,
  type PublicationsPage,
} from "@runseal/core/wire/admin-answers"
import { PAGE_LIMIT_DEFAULT, type RunFilters } from "@runseal/core/wire/run-summaries"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { countAllRuns, type Owners } from "../../store/tables/all-owners.ts"
import { listKeys } from "../../store/tables/api-keys.ts"
import { findHeldPermit } from "../../store/tables/permits-table.ts"
import { listPublications } from "../../store/tables/publications-table.ts"
import { ANONYMOUS, ANONYMOUS_KEY_ID, callerOf, tenantOfKey } from "../access/caller.ts"
import type { Handler, Handlers } from "../endpoint-routes.ts"
import { noSuchKey, noSuchPermit, readPermitId } from "../path-ids.ts"
import { asRange, nextOf, searchFilters } from "../query.ts"
import { publicBundleUrl } from "./addresses.ts"
import { oneBeginning } from "./claim-routes.ts"
import { sendExport } from "./export-routes.ts"
import { permitRecord, permitSummary } from "./permit-views.ts"
import { permitReader } from "./permits-routes.ts"
import { explained } from "./run-answer.ts"
import { detailsOf } from "./run-details.ts"
import { anyRun, readsOwner, runRecord, runSummary } from "./run-views.ts"
import { runParts, runReader } from "./runs-routes.ts"

/** Whose rows a list shows: those of the key that was asked for, of those that the caller reads. */
export function ownersOf(c: Context, key: number | undefined): Owners {
  const { reads } = callerOf(c)
  if (key === undefined) return reads
  return readsOwner(callerOf(c), key) ? [key] : []
}

export function adminRunRoutes(deps: Deps): Handlers {
  return {
    admin_runs: async (c, { query }) => {
      const { limit = PAGE_LIMIT_DEFAULT, before, after, key, with: addition, details, ...filters } = query()
      oneBeginning({ before, after })
      const owners = ownersOf(c, key)
      const [rows, counts] = await Promise.all([
        runReader(deps, filters).before(owners, { limit, before, after }),
        addition === undefined ? {} : countsOf(deps, owners, filters),
      ])
      const found = await detailsOf(deps, rows, details)
      const runs = rows.map(row => ({ ...runSummary(row), ...found.get(row.run_id), key_id: row.owner }))
      const next = nextOf(rows, limit, ({ run_id }) => run_id)
      return c.json({ ok: true, limit, runs, ...next, ...counts } satisfies AdminRunsPage)
    },
    admin_export_runs: async (c, { query }) => {
      const { key, ...range } = query()
      return sendExport(c, deps, await tenantRead(c, deps, key), asRange(range))
    },
    admin_run: async c => {
      const row = await anyRun(c, deps)
      const record = await runRecord(row, sealed => explained(c, deps, sealed))
      return c.json({ ...record, key_id: row.owner } satisfies AdminRunRecord)
    },
    ...anyRunParts(deps),
  }
}

/** How many runs of each outcome pass the other filters. */
async function countsOf(
  { reads }: Pick<Deps, "reads">,
  owners: Owners,
  query: RunFilters,
): Promise<Pick<AdminRunsPage, "counts">> {
  const { status: _status, ...filters } = searchFilters(query)
  const counted = await reads.growing(source => countAllRuns(source, owners, filters, COUNTED_RUNS_MAX))
  if (counted === undefined) return {}
  const of = (kind: OutcomeKind): number => counted.get(kind) ?? 0
  return {
    counts: {
      ok: of("ok"),
      pepg_deny: of("pepg_deny"),
      ccv_halt: of("ccv_halt"),
      macc_halt: of("macc_halt"),
      aivp_t4_halt: of("aivp_t4_halt"),
      attestation_gap: of("attestation_gap"),
      stage_error: of("stage_error"),
    },
  }
}

/** The same as a key reads of its own runs. */
function anyRunParts(deps: Deps): Handlers {
  const parts = Object.entries<Handler>(runParts(deps, anyRun))
  return Object.fromEntries(parts.map(([id, handler]) => [`admin_${id}`, handler]))
}

/** The tenant of a key that the caller reads. @throws HttpError 404 */
async function tenantRead(c: Context, { db }: Pick<Deps, "db">, key: number) {
  if (!readsOwner(callerOf(c), key)) throw noSuchKey()
  if (key === ANONYMOUS_KEY_ID) return ANONYMOUS.tenant
  if ((await listKeys(db, key)).length === 0) throw noSuchKey()
  return tenantOfKey(key)
}

export function adminPermitRoutes(deps: Deps): Handlers {
  return {
    admin_permits: async (c, { query }) => {
      const { limit = PAGE_LIMIT_DEFAULT, before = "", key, state } = query()
      const page = { limit, before: placeOf(before) }
      const rows = await permitReader(deps, state).before(ownersOf(c, key), page)
      const permits = rows.map(row => ({ ...permitSummary(row), key_id: row.owner }))
      const next = nextOf(rows, limit, placeText)
      return c.json({ ok: true, limit, permits, ...next } satisfies AdminPermitsPage)
    },
    admin_permit: async c => {
      const found = await findHeldPermit(deps.db, readPermitId(c.req.param("id")))
      if (found === undefined || !readsOwner(callerOf(c), found.owner)) throw noSuchPermit()
      return c.json({ ...permitRecord(found), key_id: found.owner } satisfies AdminPermitRecord)
    },
    published_runs: async (c, { query }) => {
      const { limit = PAGE_LIMIT_DEFAULT, before, key } = query()
      const rows = await listPublications(deps.db, ownersOf(c, key), { limit, before })
      const published = rows.map(({ owner, published_at, ...row }) => ({
        ...row,
        key_id: owner,
        url: publicBundleUrl(c, deps, row.token),
        published_at: new Date(published_at).toISOString(),
      }))
      const next = nextOf(rows, limit, ({ run_id }) => run_id)
      return c.json({ ok: true, limit, published, ...next } satisfies PublicationsPage)
    },
  }
}
