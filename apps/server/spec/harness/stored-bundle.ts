/** A run's bundle past the service, as an operator with the database can read and change it. */

import type { Database } from "../../src/store/driver/database.ts"
import { packBundle, unpackBundle } from "../../src/store/tables/bundle-text.ts"

/** The text that is stored. */
export async function readStoredBundle({ sql }: Pick<Database, "sql">, runId: number): Promise<string> {
  const [row] = await sql<{ bundle: Uint8Array }[]>`
    select packed as bundle from run join document using (log_index) where run_id = ${runId}`
  if (row === undefined) throw new Error(`there is no run ${runId}`)
  return unpackBundle(row.bundle)
}

/** Puts another text in its place. */
export async function writeStoredBundle({ sql }: Pick<Database, "sql">, runId: number, text: string): Promise<void> {
  await sql`
    update document set packed = ${packBundle(text)} where log_index = (select log_index from run where run_id = ${runId})`
}
