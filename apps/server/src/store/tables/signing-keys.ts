/** Public halves of the signing keys, and the changes that the log holds. Written under the lock of the log's head only. */
import { StoreError } from "../driver/errors.ts"
import { insertRows } from "../driver/insert-rows.ts"
import type { Source, Tx } from "../driver/session.ts"
import type { KeyChangeRow, KeyRole, SigningKeyRow } from "../schema.ts"

/** Every key the log ever had, oldest first. */
export const readSigningKeys = (source: Source): Promise<readonly SigningKeyRow[]> =>
  source.read(
    async ({ sql }) => sql<SigningKeyRow[]>`
      select key_id, role, spki, valid_from, valid_to, revoked_from from signing_key order by valid_from, key_id`,
  )

export const insertSigningKeys = (tx: Tx, keys: readonly SigningKeyRow[]): Promise<void> =>
  insertRows(tx, "signing_key", ["key_id", "role", "spki", "valid_from", "valid_to", "revoked_from"], keys)

/** Ends a key that is in force. @param at the last log time it signs, Unix seconds */
export async function retireKey({ sql }: Tx, key_id: string, at: number): Promise<void> {
  const { count } = await sql`update signing_key set valid_to = ${at} where key_id = ${key_id} and valid_to = 0`
  if (count !== 1) throw new StoreError("conflict")
}

/** Revokes a key. @param from log time from which nothing signed with it counts, Unix seconds */
export async function revokeKey({ sql }: Tx, key_id: string, from: number): Promise<void> {
  const { count } = await sql`update signing_key set revoked_from = ${from} where key_id = ${key_id}`
  if (count !== 1) throw new StoreError("conflict")
}

/** The changes of keys in the order of the log. */
export const readKeyChanges = (source: Source): Promise<readonly KeyChangeRow[]> =>
  source.read(async ({ sql }) => sql<KeyChangeRow[]>`select log_index, leaf from key_change order by log_index`)

export const insertKeyChange = (tx: Tx, change: KeyChangeRow): Promise<void> =>
  insertRows(tx, "key_change", ["log_index", "leaf"], [change])

/** Makes every process that started before stop appending: it knows other keys, or shows a key as good that is revoked. */
export async function endEpoch({ sql }: Tx): Promise<void> {
  await sql`update log_head set epoch = epoch + 1`
}

/** The key of each role that is in force, by its id. */
export type KeyIds = Readonly<Record<KeyRole, string>>

/** @throws StoreError "corrupt" when a role has none */
export function idsInForce(keys: readonly Pick<SigningKeyRow, "key_id" | "role" | "valid_to">[]): KeyIds {
  const idOf = (wanted: KeyRole): string => {
    const found = keys.find(({ role, valid_to }) => role === wanted && valid_to === 0)
    if (found === undefined) throw new StoreError("corrupt")
    return found.key_id
  }
  return { service: idOf("service"), log: idOf("log"), checkpoint: idOf("checkpoint") }
}
