/** Published runs: everybody can read their bundle under a token. */
import type { EventFacts } from "@runseal/core/artifacts/admin-event"
import { and, desc, eq, sql as fragment, inArray, lt } from "drizzle-orm"
import { pgTable, text } from "drizzle-orm/pg-core"
import type { Source } from "../driver/session.ts"
import { type Acts, recordAdminEvent } from "./admin-events.ts"
import { api_key } from "./api-keys.ts"
import { number, type RowOf } from "./column-types.ts"
import { document } from "./documents-table.ts"
import { isReadable, run_claim } from "./run-claims.ts"
import { type RunRow, type RunSummaryRow, run } from "./runs-table.ts"

/** A published run; the row goes when it is unpublished, so that a later publication has another token. */
export const publication = pgTable("publication", {
  run_id: number().primaryKey(),
  /** 32 hex digits, random. */
  token: text().notNull().unique(),
  /** Milliseconds since the epoch. */
  published_at: number(),
})

export type PublicationRow = RowOf<typeof publication>

const { token } = publication

/**
 * Publishes a run that this key reads. A published run keeps its token, also when it is published twice at the same time.
 * @param candidate the token of a new publication
 * @returns undefined when the key reads no such run
 */
export function publishRun(
  acts: Acts,
  owner: number,
  { run_id, token: candidate, published_at }: PublicationRow,
  who: EventFacts["who"],
): Promise<string | undefined> {
  return acts.transaction(async tx => {
    const own = tx.orm
      .select({
        run_id: run.run_id,
        token: fragment<string>`${candidate}::text`.as("token"),
        published_at: fragment<number>`${published_at}::bigint`.as("published_at"),
      })
      .from(run)
      .where(and(eq(run.run_id, run_id), fragment.raw(isReadable(`${owner}::bigint`))))
    const [published] = await tx.orm
      .insert(publication)
      .select(own)
      .onConflictDoUpdate({ target: publication.run_id, set: { token: fragment`${token}` } })
      .returning({ token })
    const subject = { kind: "run" as const, id: String(run_id) }
    // The address is no secret: everybody who knows it reads what is published. It is in no event all the same, so that a run can be withdrawn.
    if (published?.token === candidate)
      await recordAdminEvent(tx, { at: published_at, who, action: "run.publish", subject })
    return published?.token
  })
}

/**
 * Withdraws a run, of whatever owner; no change if it is not published.
 * @param at milliseconds since the epoch
 * @returns whether there is such a run
 */
export async function unpublishRun(acts: Acts, runId: number, who: EventFacts["who"], at: number): Promise<boolean> {
  const found = await acts.transaction(async tx => {
    const withdrawn = await tx.orm.delete(publication).where(eq(publication.run_id, runId)).returning()
    const subject = { kind: "run" as const, id: String(runId) }
    if (withdrawn.length > 0) await recordAdminEvent(tx, { at, who, action: "run.unpublish", subject })
    return tx.orm.select({ run_id: run.run_id }).from(run).where(eq(run.run_id, runId))
  })
  return found.length === 1
}

/** The sealed document published under a token; undefined when nothing is. */
export function findPublished(source: Source, publicToken: string): Promise<RunRow["bundle"] | undefined> {
  return source.read(async ({ orm }) => {
    const [found] = await orm
      .select({ bundle: document.packed })
      .from(publication)
      .innerJoin(run, eq(run.run_id, publication.run_id))
      .innerJoin(document, eq(document.log_index, run.log_index))
      .where(eq(token, publicToken))
    return found?.bundle
  })
}

/** What the page of a published run says of it. */
export type PublishedFacts = Pick<
  RunSummaryRow,
  "run_id" | "outcome_kind" | "enforcement" | "closing_outcome" | "created_at"
> & {
  /** Milliseconds since the epoch. */
  readonly published_at: number
  /** Name of the admin key that published it. */
  readonly publisher: string
}

/** The run published under a token; undefined when none is. */
export function describePublished(source: Source, publicToken: string): Promise<PublishedFacts | undefined> {
  return source.read(async ({ orm }) => {
    const { run_id, outcome_kind, enforcement, closing_outcome, created_at } = run
    const [found] = await orm
      .select({
        run_id,
        outcome_kind,
        enforcement,
        closing_outcome,
        created_at,
        published_at: publication.published_at,
        publisher: api_key.name,
      })
      .from(publication)
      .innerJoin(run, eq(run.run_id, publication.run_id))
      // Runs of open mode belong to the key that they were given to.
      .leftJoin(run_claim, eq(run.owner, 0))
      .innerJoin(api_key, eq(api_key.key_id, fragment`coalesce(${run_claim.key_id}, ${run.owner})`))
      .where(eq(token, publicToken))
    return found
  })
}

/** A publication in a list. */
export type ListedPublication = PublicationRow & Pick<RunSummaryRow, "owner" | "outcome_kind">

/** The next published runs of these owners, the newest run first. @param before a run's number */
export function listPublications(
  source: Source,
  owners: readonly number[] | undefined,
  { limit, before }: { readonly limit: number; readonly before?: number | undefined },
): Promise<readonly ListedPublication[]> {
  const { run_id, owner, outcome_kind } = run
  return source.read(({ orm }) =>
    orm
      .select({ run_id, owner, outcome_kind, token, published_at: publication.published_at })
      .from(publication)
      .innerJoin(run, eq(run.run_id, publication.run_id))
      .where(
        and(
          before === undefined ? undefined : lt(publication.run_id, before),
          owners === undefined ? undefined : inArray(owner, [...owners]),
        ),
      )
      .orderBy(desc(publication.run_id))
      .limit(limit),
  )
}

/** The token under which a run is published; undefined when it is not. */
export function findPublicToken(source: Source, runId: number): Promise<string | undefined> {
  return source.read(async ({ orm }) => {
    const [found] = await orm.select({ token }).from(publication).where(eq(publication.run_id, runId))
    return found?.token
  })
}
