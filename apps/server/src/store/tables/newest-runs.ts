/** The newest runs of all callers, for a dry run of a policy. */
import type { Source } from "../driver/session.ts"
import { unpackBundle } from "./bundle-text.ts"

export type NewestRun = {
  readonly run_id: number
  /** The bundle's RFC 8785 text. */
  readonly bundle: string
  /** Tokens that the run wanted to reserve, where it is the refused opening of a permit; null for any other. */
  readonly asked_tokens: number | null
}

/** @param before only runs with a lower number, newest first */
export function newestRuns(source: Source, before: number, limit: number): Promise<readonly NewestRun[]> {
  return source.read(async ({ sql }) => {
    const rows = await sql<(Omit<NewestRun, "bundle"> & { readonly bundle: Uint8Array })[]>`
      select run.run_id, document.packed as bundle, permit.reserved as asked_tokens from run
      join document on document.log_index = run.log_index
      left join permit on permit.owner = run.owner and permit.run_id = run.run_id and permit.run_id > 0
        and run.permit_id = ''
      where run.run_id < ${before} order by run.run_id desc limit ${limit}`
    return rows.map(row => ({ ...row, bundle: unpackBundle(row.bundle) }))
  })
}
