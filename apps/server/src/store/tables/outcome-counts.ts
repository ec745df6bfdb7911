/** How many runs each owner has of each outcome, counted where they are sealed: to count millions of rows takes too long for an answer. */
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { pgTable, primaryKey, text } from "drizzle-orm/pg-core"
import type { Tx } from "../driver/session.ts"
import { number, type RowOf } from "./column-types.ts"

export const outcome_count = pgTable(
  "outcome_count",
  {
    /** Id of the API key; 0 = anonymous. */
    owner: number(),
    outcome_kind: text().$type<OutcomeKind>().notNull(),
    runs: number(),
  },
  table => [primaryKey({ columns: [table.owner, table.outcome_kind] })],
)

export type OutcomeCountRow = RowOf<typeof outcome_count>

/** Adds runs to their counts. Behind the head's lock, so that no two transactions wait for each other's rows. */
export async function countOutcomes(
  { sql }: Tx,
  runs: readonly Pick<OutcomeCountRow, "owner" | "outcome_kind">[],
): Promise<void> {
  if (runs.length === 0) return
  await sql`
    insert into outcome_count as stored (owner, outcome_kind, runs)
    select owner, outcome_kind, count(*)
    from json_to_recordset(${JSON.stringify(runs)}::text::json) as sealed(owner bigint, outcome_kind text)
    group by owner, outcome_kind
    on conflict (owner, outcome_kind) do update set runs = stored.runs + excluded.runs`
}
