/** What the records of listed runs say of who acted, and why a gate refused them: columns of a list that the database has no column for. Decision 0360. */
import { setImmediate } from "node:timers/promises"
import { member, textMember } from "@runseal/core/vocabulary/json-members"
import { isRefused } from "@runseal/core/vocabulary/outcomes"
import type { RunDetails, RunSummary, RunWho } from "@runseal/core/wire/run-summaries"
import type { Deps } from "../../deps.ts"
import { unpackBundle } from "../../store/tables/bundle-text.ts"
import { packedRuns, type RunRow, type RunSummaryRow } from "../../store/tables/runs-table.ts"
import { storedFields, storedRecord } from "./run-views.ts"

/** Characters of records that one page unpacks; the runs behind them are listed without details. */
const DETAIL_CHARACTERS = 8 * 1024 * 1024

/** Records that are fetched at once: what is in memory does not grow with the page. */
const READ_AT_ONCE = 20

type Details = Pick<RunSummary, "who" | "explanation">

/** The details of a page's runs, by their numbers; none where they were not asked for. @param rows newest first */
export async function detailsOf(
  deps: Pick<Deps, "reads" | "policies">,
  rows: readonly RunSummaryRow[],
  asked: RunDetails | undefined,
): Promise<ReadonlyMap<number, Details>> {
  const details = new Map<number, Details>()
  if (asked === undefined || rows.length === 0) return details
  const ids = rows.map(({ run_id }) => run_id)
  const refused = new Set(rows.filter(({ outcome_kind }) => isRefused(outcome_kind)).map(({ run_id }) => run_id))
  let room = DETAIL_CHARACTERS
  for (let first = 0; first < ids.length && room > 0; first += READ_AT_ONCE) {
    const some = ids.slice(first, first + READ_AT_ONCE)
    for (const { run_id, packed } of await deps.reads.growing(source => packedRuns(source, some))) {
      if (room <= 0) break
      const bundle = unpackBundle(packed)
      room -= bundle.length
      details.set(run_id, { who: whoOf(bundle), ...(refused.has(run_id) ? await whyOf(deps, { run_id, bundle }) : {}) })
      // Other requests are answered between two records.
      await setImmediate()
    }
  }
  return details
}

/** Who acted: a declared section that is absent, and no end user, leave it empty. */
function whoOf(bundle: string): RunWho {
  const sections = member(storedFields({ bundle }), "sections")
  const actor_id = textMember(member(member(sections, "attested_context"), "declared"), "actor_id")
  const end_user = textMember(member(sections, "end_user"), "subject")
  return { ...(actor_id ? { actor_id } : {}), ...(end_user ? { end_user } : {}) }
}

/** What the record alone says of its refusal, with the name of a signature. */
async function whyOf(
  { policies }: Pick<Deps, "policies">,
  stored: Pick<RunRow, "run_id" | "bundle">,
): Promise<Pick<Details, "explanation">> {
  const refusal = await policies.explain(storedRecord(stored), false)
  if (refusal === undefined) return {}
  const { description: _description, reference: _reference, read: _read, ...explanation } = refusal.explanation
  return { explanation }
}
