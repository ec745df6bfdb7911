/**
 * Charges of requests under idempotency keys. There are no refunds: a retry of an attempt that ended before its record was sealed
 * takes over its charge, so that a request is charged once however often it is retried.
 */
import type { Tx } from "../driver/session.ts"
import { type KeyState, lockKeys, updateKeys } from "./idempotency-keys.ts"
import type { Charge, ChargeResult, TokenMovementRow } from "./tenant-windows.ts"

/** What an earlier attempt at a request leaves to its retry. */
type EarlierAttempt = {
  /** The charge that is taken over; "" when the key has its record. */
  readonly charge_id: string
  readonly result: ChargeResult
}

/** Locks the keys of these charges and gives the state of each. No statement without keys. */
export const lockClaims = (tx: Tx, charges: readonly Charge[]): Promise<ReadonlyMap<string, KeyState>> =>
  lockKeys(
    tx,
    charges.flatMap(({ claim }) => claim ?? []),
    Math.max(...charges.map(({ charged_at }) => charged_at)),
  )

/**
 * Finds the attempts that need no charge of their own. No statement without keys.
 * @param keys the states of the keys of these charges, which are locked
 */
export async function earlierAttempts(
  tx: Tx,
  charges: readonly Charge[],
  keys: ReadonlyMap<string, KeyState>,
): Promise<ReadonlyMap<Charge, EarlierAttempt>> {
  const made = await findCharges(tx, [...keys.values()])
  const found = new Map<Charge, EarlierAttempt>()
  for (const charge of charges) {
    const key = charge.claim && keys.get(charge.claim.key_hash)
    const attempt = key && attemptOf(charge, key, made.get(key.charge_id))
    if (attempt === undefined) continue
    found.set(charge, attempt)
    // A charge is taken over once: another attempt in this batch is charged.
    made.delete(attempt.charge_id)
  }
  return found
}

function attemptOf(charge: Charge, key: KeyState, made: TokenMovementRow | undefined): EarlierAttempt | undefined {
  if (key.record_id !== "") return { charge_id: "", result: { ok: false, reason: "sealed" } }
  if (made === undefined || key.request_digest !== charge.claim?.request_digest || !isSame(charge, made))
    return undefined
  const { charge_id, ordinal, total_after } = made
  return { charge_id, result: { ok: true, ordinal, total_after } }
}

const isSame = (a: Charge, b: TokenMovementRow): boolean =>
  a.tenant_id === b.tenant_id &&
  a.window_seconds === b.window_seconds &&
  a.window_start === b.window_start &&
  a.tokens === b.tokens

async function findCharges({ sql }: Tx, keys: readonly KeyState[]): Promise<Map<string, TokenMovementRow>> {
  const ids = keys.map(({ charge_id }) => charge_id).filter(id => id !== "")
  if (ids.length === 0) return new Map()
  const rows = await sql<TokenMovementRow[]>`
    select charge_id, kind, tenant_id, window_seconds, window_start, ordinal, tokens, total_after, moved_at
    from token_movement
    where charge_id = any(array(select json_array_elements_text(${JSON.stringify(ids)}::text::json))) and kind = 'charge'`
  return new Map(rows.map(row => [row.charge_id, row]))
}

/**
 * Writes the new ids of charges that were taken over, and the charge of each key.
 * @returns the statements, which are sent in this order
 */
export function writeCharges(
  tx: Tx,
  charges: readonly Charge[],
  earlier: ReadonlyMap<Charge, EarlierAttempt>,
): readonly Promise<void>[] {
  const moved = charges.flatMap(charge => {
    const old = earlier.get(charge)
    return old === undefined ? [] : [{ old_id: old.charge_id, new_id: charge.charge_id }]
  })
  const states = charges.flatMap(({ claim, charge_id, charged_at }) =>
    claim === undefined ? [] : [{ ...claim, charge_id, record_id: "", kept_at: charged_at }],
  )
  return [moveCharges(tx, moved), updateKeys(tx, states)]
}

async function moveCharges(
  { sql }: Tx,
  moved: readonly { readonly old_id: string; readonly new_id: string }[],
): Promise<void> {
  if (moved.length === 0) return
  await sql`
    update token_movement set charge_id = moved.new_id
    from json_to_recordset(${JSON.stringify(moved)}::text::json) as moved(old_id text, new_id text)
    where charge_id = moved.old_id and kind = 'charge'`
}
