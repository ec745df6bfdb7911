/**
 * What an admin key does to a key after it was made. Each change and its event are one transaction, in which the right of the acting key is
 * judged: it must not be revoked or expired by then.
 */
import { type JsonObject, sha256Hex, utf8Encode } from "@runseal/canonical"
import type { AdminAction } from "@runseal/core/artifacts/admin-event"
import { eq, inArray } from "drizzle-orm"
import type { Tx } from "../driver/session.ts"
import { type Acts, actingKeyId, type NewAdminEvent, recordHeldEvent } from "./admin-events.ts"
import { type ApiKeyRow, api_key, type KeySettings } from "./api-keys.ts"
import { withdrawApprovals } from "./approvals-table.ts"

/** Who acts, on which key, and when, in milliseconds since the epoch. */
export type KeyAct = { readonly key_id: number } & Pick<NewAdminEvent, "at" | "who" | "once">

/** `nobody`: the acting key is revoked or expired; `absent`: there is no such key; `revoked`: it is, and stays so. */
export type Unchanged = "nobody" | "absent" | "revoked"

/** Settings of a key that are changed; absent ones stay. */
export type KeyChange = Partial<KeySettings & Pick<ApiKeyRow, "name" | "tier">>

/** What an event says of these settings: notes by their hash, none and the deployment's as null. */
export function settingsInEvent({ notes, ...change }: KeyChange): JsonObject {
  const shown: Record<string, JsonObject[string]> = {}
  for (const [name, value] of Object.entries(change)) if (value !== undefined) shown[name] = settingInEvent(name, value)
  return notes === undefined ? shown : { ...shown, notes_sha256: notes === "" ? null : sha256Hex(utf8Encode(notes)) }
}

function settingInEvent(name: string, value: string | number | boolean): JsonObject[string] {
  if (name === "expires_at" && typeof value === "number") return value === 0 ? null : new Date(value).toISOString()
  if (["reads", "groups", "persons"].includes(name) && typeof value === "string")
    return value === "" ? null : JSON.parse(value)
  return typeof value === "number" && value < 0 ? null : value
}

/** Gives a key another secret; the one before it works until `overlap_until`, if that is not 0. */
export function replaceSecret(
  acts: Acts,
  act: KeyAct,
  { secret_hash, overlap_until }: { readonly secret_hash: string; readonly overlap_until: number },
): Promise<ApiKeyRow | Unchanged> {
  return acts.transaction(async tx => {
    const key = await lockKey(tx, act)
    if (typeof key === "string") return key
    if (key.revoked_at !== 0) return "revoked"
    const old_secret_hash = overlap_until === 0 ? Buffer.alloc(0) : key.secret_hash
    const next = { secret_hash: Buffer.from(secret_hash, "hex"), old_secret_hash, overlap_until, rotated_at: act.at }
    await tx.orm.update(api_key).set(next).where(eq(api_key.key_id, key.key_id))
    const after = { overlap_until: overlap_until === 0 ? null : new Date(overlap_until).toISOString() }
    await recordKeyEvent(tx, act, "key.rotate", { after })
    return { ...key, ...next }
  })
}

/**
 * Changes settings of a key, also of one that is revoked.
 * @param changeOf what is changed, from the key as it is; throws to refuse
 */
export function changeKey(
  acts: Acts,
  act: KeyAct,
  changeOf: (key: ApiKeyRow) => KeyChange,
): Promise<ApiKeyRow | Unchanged> {
  return acts.transaction(async tx => {
    const key = await lockKey(tx, act)
    if (typeof key === "string") return key
    const change = Object.fromEntries(
      Object.entries(changeOf(key)).filter(([name, value]) => new Map(Object.entries(key)).get(name) !== value),
    )
    if (Object.keys(change).length === 0) return key
    await tx.orm.update(api_key).set(change).where(eq(api_key.key_id, key.key_id))
    const changed = new Set(Object.keys(change))
    const before: KeyChange = Object.fromEntries(Object.entries(key).filter(([name]) => changed.has(name)))
    await recordKeyEvent(tx, act, "key.change", { before: settingsInEvent(before), after: settingsInEvent(change) })
    return { ...key, ...change }
  })
}

/**
 * Revokes a key; one that is revoked keeps its first time. Its open permits are due from then on, and its requests for an approval are withdrawn: the key's row is locked first, so
 * that no permit is opened in between.
 * @returns why nothing was done; undefined when the key is revoked now
 */
export function revokeKey(acts: Acts, act: KeyAct): Promise<Unchanged | undefined> {
  return acts.transaction(async tx => {
    const key = await lockKey(tx, act)
    if (typeof key === "string") return key
    if (key.revoked_at !== 0) return undefined
    const revoked = { revoked_at: act.at, revoked_by: act.who.actor }
    await tx.orm.update(api_key).set(revoked).where(eq(api_key.key_id, key.key_id))
    await tx.sql`
      with due as (
        select permit_id from permit where owner = ${key.key_id}::bigint and state = 'open'
        order by permit_id collate "C" for update
      )
      update permit set due_at = 0 from due where permit.permit_id = due.permit_id`
    await withdrawApprovals(tx, key.key_id)
    await recordKeyEvent(tx, act, "key.revoke", { before: { revoked: false }, after: { revoked: true } })
    return undefined
  })
}

/** Locks the acting key, if one acts, and the one it acts on, in the order of their ids: no two administrators wait for each other. */
async function lockKey({ orm }: Tx, { who, key_id, at }: KeyAct): Promise<ApiKeyRow | "nobody" | "absent"> {
  const admin = actingKeyId(who)
  const rows = await orm
    .select()
    .from(api_key)
    .where(inArray(api_key.key_id, [...(admin === undefined ? [] : [admin]), key_id]))
    .orderBy(api_key.key_id)
    .for("update")
  const acting = rows.find(row => row.key_id === admin)
  const isActive = acting?.revoked_at === 0 && (acting.expires_at === 0 || acting.expires_at > at)
  if (admin !== undefined && (!isActive || acting.scope !== "admin")) return "nobody"
  return rows.find(row => row.key_id === key_id) ?? "absent"
}

const recordKeyEvent = (
  tx: Tx,
  { who, key_id, at, once }: KeyAct,
  action: AdminAction,
  changed: { readonly before?: JsonObject; readonly after: JsonObject },
): Promise<void> =>
  recordHeldEvent(tx, {
    at,
    once,
    who,
    action,
    subject: { kind: "key", id: String(key_id) },
    ...changed,
  })
