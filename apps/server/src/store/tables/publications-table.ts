/** Published runs: everybody can read their bundle under a token. */
import { and, eq, sql as fragment } from "drizzle-orm"
import { pgTable, text } from "drizzle-orm/pg-core"
import type { Database } from "../driver/database.ts"
import type { Sink, Source } from "../driver/session.ts"
import { api_key } from "./api-keys.ts"
import { number, type RowOf } from "./column-types.ts"
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
  sink: Sink,
  owner: number,
  { run_id, token: candidate, published_at }: PublicationRow,
): Promise<string | undefined> {
  return sink.write(async ({ orm }) => {
    const own = orm
      .select({
        run_id: run.run_id,
        token: fragment<string>`${candidate}::text`.as("token"),
        published_at: fragment<number>`${published_at}::bigint`.as("published_at"),
      })
      .from(run)
      .where(and(eq(run.run_id, run_id), fragment.raw(isReadable(`${owner}::bigint`))))
    const [published] = await orm
      .insert(publication)
      .select(own)
      .onConflictDoUpdate({ target: publication.run_id, set: { token: fragment`${token}` } })
      .returning({ token })
    return published?.token
  })
}

/** Withdraws a run, of whatever owner; no change if it is not published. @returns whether there is such a run */
export async function unpublishRun(db: Pick<Database, "write" | "confirm">, runId: number): Promise<boolean> {
  const found = await db.write(({ orm }) => {
    const withdrawn = orm
      .$with("withdrawn")
      .as(orm.delete(publication).where(eq(publication.run_id, runId)).returning())
    return orm.with(withdrawn).select({ run_id: run.run_id }).from(run).where(eq(run.run_id, runId))
  })
  // If there was nothing to delete, nothing was committed: an earlier withdrawal may still wait for its standby.
  await db.confirm()
  return found.length === 1
}

/** The sealed document published under a token; undefined when nothing is. */
export function findPublished(source: Source, publicToken: string): Promise<RunRow["bundle"] | undefined> {
  return source.read(async ({ orm }) => {
    const { bundle } = run
    const [found] = await orm
      .select({ bundle })
      .from(publication)
      .innerJoin(run, eq(run.run_id, publication.run_id))
      .where(eq(token, publicToken))
    return found?.bundle
  })
}

/** What the page of a published run says of it. */
export type PublishedFacts = Pick<RunSummaryRow, "run_id" | "outcome_kind" | "enforcement" | "created_at"> & {
  /** Milliseconds since the epoch. */
  readonly published_at: number
  /** Name of the admin key that published it. */
  readonly publisher: string
}

/** The run published under a token; undefined when none is. */
export function describePublished(source: Source, publicToken: string): Promise<PublishedFacts | undefined> {
  return source.read(async ({ orm }) => {
    const { run_id, outcome_kind, enforcement, created_at } = run
    const [found] = await orm
      .select({
        run_id,
        outcome_kind,
        enforcement,
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

/** The token under which a run is published; undefined when it is not. */
export function findPublicToken(source: Source, runId: number): Promise<string | undefined> {
  return source.read(async ({ orm }) => {
    const [found] = await orm.select({ token }).from(publication).where(eq(publication.run_id, runId))
    return found?.token
  })
}
