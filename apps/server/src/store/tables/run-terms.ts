/**
 * The search index of values that are sealed inside records and are no columns of `run`. A value is stored as a hash, within the
 * owner of its run. Entries of declared sections and end users can be cleared; the records are not changed by that. Decision 0124.
 */
import { sha256Hex } from "@runseal/canonical"
import { bigint, pgTable, primaryKey, smallint } from "drizzle-orm/pg-core"
import type { Database } from "../driver/database.ts"
import type { Sink, Source, Tx } from "../driver/session.ts"
import { number } from "./column-types.ts"

/** The indexed fields and their stored numbers. A number is never used for another field. */
export const TERM_FIELDS = {
  rule_id: 1,
  payload_hash: 2,
  envelope_id: 3,
  /** Of declared sections, from here on. */
  actor_id: 16,
  model_name: 17,
  approver: 18,
  /** Of the end user: subject and issuer. They are cleared as those of declared sections are. */
  end_user: 19,
  end_user_issuer: 20,
} as const
export type TermField = keyof typeof TERM_FIELDS
const FIRST_DECLARED = 16

/** One value of one run. Looked up by its primary key alone; it names its run as the chain does. */
export const run_term = pgTable(
  "run_term",
  {
    owner: number(),
    field: smallint().notNull(),
    /** The first 8 bytes of the value's SHA-256, read as a signed number. */
    term: bigint({ mode: "bigint" }).notNull(),
    owner_ordinal: number(),
  },
  table => [primaryKey({ columns: [table.owner, table.field, table.term, table.owner_ordinal] })],
)

/** A field's value in a run. */
export type RunTerm = { readonly field: TermField; readonly value: string }

/** The values of a run, which is named as in its chain. */
export type TermsOfRun = { readonly owner: number; readonly owner_ordinal: number; readonly terms: readonly RunTerm[] }

const TERM_HEX_DIGITS = 16
/**
 * A value as it is stored, in decimal: 64 bits are more than a number of JavaScript holds. In the normal form C of Unicode, so that a search
 * finds a name however it was typed.
 */
export const termHash = (value: string): string =>
  BigInt.asIntN(64, BigInt(`0x${sha256Hex(value.normalize("NFC")).slice(0, TERM_HEX_DIGITS)}`)).toString()

/** Prepared, and with one parameter a column: the fastest way to insert many narrow rows. */
const INSERT = `insert into run_term (owner, field, term, owner_ordinal)
  select * from unnest($1::text::bigint[], $2::text::smallint[], $3::text::bigint[], $4::text::bigint[])`

/** Writes the values of runs, each value once: two values of a run may have one hash. */
export async function insertTerms({ sql }: Tx, runs: readonly TermsOfRun[]): Promise<void> {
  const columns: readonly [(string | number)[], number[], string[], number[]] = [[], [], [], []]
  for (const { owner, owner_ordinal, terms } of runs) {
    const seen = new Set<string>()
    for (const { field, value } of terms) {
      const [number, hash] = [TERM_FIELDS[field], termHash(value)]
      if (seen.has(`${number} ${hash}`)) continue
      seen.add(`${number} ${hash}`)
      columns[0].push(owner)
      columns[1].push(number)
      columns[2].push(hash)
      columns[3].push(owner_ordinal)
    }
  }
  if (columns[0].length === 0) return
  await sql.unsafe(
    INSERT,
    columns.map(column => `{${column.join(",")}}`),
    { prepare: true },
  )
}

/** SQL condition on `owner_ordinal`: runs of the owner with this value. @param place gives a value its place in the statement */
export const hasTerm = (owner: string, { field, value }: RunTerm, place: (value: string) => string): string =>
  `owner_ordinal in (select owner_ordinal from run_term where owner = ${owner}
    and field = ${TERM_FIELDS[field]} and term = ${place(termHash(value))}::bigint)`

/** Entries that one statement reads. */
const STEP_ROWS = 5000

/** Entries of declared sections: those that were deleted, and those that are still there. */
export type ClearedTerms = { readonly cleared: number; readonly remaining: number }

/**
 * Deletes the entries of declared sections, in bounded steps along the primary key, each a transaction of its own. Runs that are
 * sealed later are indexed as before.
 * @param before only of runs admitted before; milliseconds since the epoch
 * @param only of this owner's runs; absent: of all
 */
export async function clearDeclaredTerms(
  db: Pick<Database, "kind" | "write" | "read">,
  before: number,
  only: number | undefined,
): Promise<ClearedTerms> {
  let [cleared, remaining] = [0, 0]
  for (let owner = only ?? (await ownerAfter(db, -1)); owner !== undefined; ) {
    // No field has the number before the first declared one, so that this is before all of them.
    let last: Cursor | undefined = { field: FIRST_DECLARED - 1, term: "0", owner_ordinal: 0 }
    while (last !== undefined) {
      const step: Step | undefined = await clearStep(db, owner, last, before)
      cleared += step?.cleared ?? 0
      remaining += step === undefined ? 0 : step.seen - step.cleared
      last = step
    }
    owner = only === undefined ? await ownerAfter(db, owner) : undefined
  }
  // The embedded database has no autovacuum, which removes what was deleted from the files.
  if (db.kind !== "postgres") await db.write(async ({ sql }) => sql.unsafe("vacuum run_term"))
  return { cleared, remaining }
}

const ownerAfter = (source: Source, owner: number): Promise<number | undefined> =>
  source.read(async ({ sql }) => {
    const [found] = await sql<{ next: number | null }[]>`
      select min(owner) as next from run_term where owner > ${owner}::bigint`
    return found?.next ?? undefined
  })

type Cursor = { readonly field: number; readonly term: string; readonly owner_ordinal: number }
type Step = Cursor & { readonly seen: number; readonly cleared: number }

const clearStep = (
  sink: Sink,
  owner: number,
  { field, term, owner_ordinal }: Cursor,
  before: number,
): Promise<Step | undefined> =>
  sink.write(async ({ sql }) => {
    const [step] = await sql<Step[]>`
      with step as (
        select field, term, owner_ordinal from run_term
        where owner = ${owner}::bigint
          and (field, term, owner_ordinal) > (${field}::smallint, ${term}::text::bigint, ${owner_ordinal}::bigint)
        order by field, term, owner_ordinal limit ${STEP_ROWS}::bigint
      ), gone as (
        delete from run_term using step, run
        where run_term.owner = ${owner}::bigint and run.owner = ${owner}::bigint
          and (run_term.field, run_term.term, run_term.owner_ordinal) = (step.field, step.term, step.owner_ordinal)
          and run.owner_ordinal = step.owner_ordinal and run.created_at < ${before}::bigint
        returning 1
      )
      select field::int, term::text as term, owner_ordinal,
        (select count(*) from step) as seen, (select count(*) from gone) as cleared
      from step order by field desc, term desc, owner_ordinal desc limit 1`
    return step
  })
