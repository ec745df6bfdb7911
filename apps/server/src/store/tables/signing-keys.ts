import type { KeyRole } from "@runseal/core/vocabulary/key-roles"
/** Public halves of the signing keys, and the changes that the log holds. Written under the lock of the log's head only. */
import { and, asc, eq, sql as fragment } from "drizzle-orm"
import { check, pgTable, text } from "drizzle-orm/pg-core"
import type { Source, Tx } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { bytea, number, type RowOf } from "./column-types.ts"
import { log_head } from "./log-store.ts"

/** The public half of a signing key and when it counts. Rows are never deleted; of each role one is in force. docs/formats.md section 15. */
export const signing_key = pgTable(
  "signing_key",
  {
    /** SHA-256 of the DER SPKI, 64 hex digits. */
    key_id: text().primaryKey(),
    role: text().$type<KeyRole>().notNull(),
    /** DER. */
    spki: bytea().notNull(),
    /** Unix seconds of log time, as the next two. */
    valid_from: number(),
    /** 0 = in force. */
    valid_to: number(),
    /** 0 = not revoked. */
    revoked_from: number(),
  },
  table => [check("signing_key_role", fragment`${table.role} in ('service', 'log', 'checkpoint')`)],
)

/** A change of the log's keys: what its entry signs. */
export const key_change = pgTable("key_change", {
  log_index: number().primaryKey(),
  /** The leaf's RFC 8785 text. */
  leaf: text().notNull(),
})

export type SigningKeyRow = RowOf<typeof signing_key>
type KeyChangeRow = RowOf<typeof key_change>

/** Every key the log ever had, oldest first. */
export const readSigningKeys = (source: Source): Promise<readonly SigningKeyRow[]> =>
  source.read(({ orm }) => orm.select().from(signing_key).orderBy(asc(signing_key.valid_from), asc(signing_key.key_id)))

export async function insertSigningKeys({ orm }: Tx, keys: readonly SigningKeyRow[]): Promise<void> {
  await orm.insert(signing_key).values([...keys])
}

/** Ends a key that is in force. @param at the last log time it signs, Unix seconds */
export async function retireKey({ orm }: Tx, key_id: string, at: number): Promise<void> {
  const inForce = and(eq(signing_key.key_id, key_id), eq(signing_key.valid_to, 0))
  const { count } = await orm.update(signing_key).set({ valid_to: at }).where(inForce)
  if (count !== 1) throw new StoreError("conflict")
}

/** Revokes a key. @param from log time from which nothing signed with it counts, Unix seconds */
export async function revokeSigningKey({ orm }: Tx, key_id: string, from: number): Promise<void> {
  const { count } = await orm.update(signing_key).set({ revoked_from: from }).where(eq(signing_key.key_id, key_id))
  if (count !== 1) throw new StoreError("conflict")
}

/** The changes of keys in the order of the log. */
export const readKeyChanges = (source: Source): Promise<readonly KeyChangeRow[]> =>
  source.read(({ orm }) => orm.select().from(key_change).orderBy(asc(key_change.log_index)))

export async function insertKeyChange({ orm }: Tx, change: KeyChangeRow): Promise<void> {
  await orm.insert(key_change).values(change)
}

/** Makes every process that started before stop appending: it knows other keys, or shows a key as good that is revoked. */
export async function endEpoch({ orm }: Tx): Promise<void> {
  await orm.update(log_head).set({ epoch: fragment`${log_head.epoch} + 1` })
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
