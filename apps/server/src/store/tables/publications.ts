/** Published runs: whose bundle anybody reads under a token. */
import type { PublicationRow } from "../access-schema.ts"
import type { Database } from "../driver/database.ts"
import type { Sink, Source } from "../driver/session.ts"
import type { RunRow } from "../schema.ts"
import { unpackBundle } from "./bundle-text.ts"

/**
 * Publishes a run of this owner. A run that is published keeps its token, whoever else publishes it at the same time.
 * @param candidate the token of a new publication
 * @returns undefined when the owner has no such run
 */
export function publishRun(
  sink: Sink,
  owner: number,
  { run_id, token: candidate, published_at }: PublicationRow,
): Promise<string | undefined> {
  return sink.write(async ({ sql }) => {
    const [published] = await sql<Pick<PublicationRow, "token">[]>`
      insert into publication as stored (run_id, token, published_at)
      select run_id, ${candidate}::text, ${published_at}::bigint from run where run_id = ${run_id} and owner = ${owner}
      on conflict (run_id) do update set token = stored.token
      returning token`
    return published?.token
  })
}

/** Withdraws whoever's run it is; one that is not published stays so. @returns whether there is such a run */
export async function unpublishRun(db: Pick<Database, "write" | "confirm">, runId: number): Promise<boolean> {
  const found = await db.write(
    ({ sql }) => sql`
      with withdrawn as (delete from publication where run_id = ${runId}) select run_id from run where run_id = ${runId}`,
  )
  // Where nothing was left to delete, nothing was committed: an earlier withdrawal may still wait for its standby.
  await db.confirm()
  return found.length === 1
}

/** The sealed document published under a token; undefined when nothing is. */
export function findPublished(source: Source, token: string): Promise<RunRow["bundle"] | undefined> {
  return source.read(async ({ sql }) => {
    const [found] = await sql<{ bundle: Uint8Array }[]>`
      select bundle from publication join run using (run_id) where token = ${token}`
    return found === undefined ? undefined : unpackBundle(found.bundle)
  })
}

/** Whether a run is published under a token. */
export function isPublished(source: Source, token: string): Promise<boolean> {
  return source.read(async ({ sql }) => {
    const found = await sql`select from publication where token = ${token}`
    return found.length === 1
  })
}

/** The token under which a run is published; undefined when it is not. */
export function findPublicToken(source: Source, runId: number): Promise<string | undefined> {
  return source.read(async ({ sql }) => {
    const [found] = await sql<Pick<PublicationRow, "token">[]>`select token from publication where run_id = ${runId}`
    return found?.token
  })
}
