/**
 * Cumulative token budgets: what moved each tenant's total in each fixed window. docs/pipeline.md, "Gates".
 * What charges is hand-written: one statement for a whole batch, as a JSON text.
 */
import { type WindowKey, windowName } from "@runseal/core/seal/permits/windows"
import type { MovementKind } from "@runseal/core/vocabulary/movement-kind"
import { and, eq, sql as fragment } from "drizzle-orm"
import { check, pgTable, primaryKey, text } from "drizzle-orm/pg-core"
import type { Database } from "../driver/database.ts"
import { createGroupCommit, type Upstream } from "../driver/group-commit.ts"
import { insertRows, type Source, sentTogether, type Tx } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { number, type RowOf } from "./column-types.ts"
import { type KeyClaim, type KeyState, lockKeys, updateKeys } from "./idempotency-keys.ts"

/** A tenant's token total in one fixed window. */
export const tenant_window = pgTable(
  "tenant_window",
  {
    tenant_id: text().notNull(),
    window_seconds: number(),
    /** Milliseconds since the epoch. */
    window_start: number(),
    total: number(),
    /** How many movements made the total: the ordinal of the last one. */
    movements: number(),
  },
  table => [
    primaryKey({ columns: [table.tenant_id, table.window_seconds, table.window_start] }),
    check("tenant_window_exact", fragment`${table.total} between 0 and 9007199254740991`),
  ],
)

/** One movement of a window's total. There is no refund, whatever becomes of a run. */
export const token_movement = pgTable(
  "token_movement",
  {
    /** Of a run, or of a permit for all of its movements. */
    charge_id: text().notNull(),
    kind: text().$type<MovementKind>().notNull(),
    tenant_id: text().notNull(),
    window_seconds: number(),
    window_start: number(),
    /** 1, 2, 3 … without a gap within the window. */
    ordinal: number(),
    /** What was added to the total; negative where it was lowered. */
    tokens: number(),
    /** The window's total right after this movement. */
    total_after: number(),
    /** Milliseconds since the epoch. */
    moved_at: number(),
  },
  table => [primaryKey({ columns: [table.charge_id, table.kind] })],
)

export type TenantWindowRow = RowOf<typeof tenant_window>
export type TokenMovementRow = RowOf<typeof token_movement>

/** A charge to make. `charge_id` is new each time; `tokens` is a count of at most 2^53−1. */
export type Charge = Pick<
  TokenMovementRow,
  "charge_id" | "tenant_id" | "window_seconds" | "window_start" | "tokens"
> & {
  /** Milliseconds since the epoch. */
  readonly charged_at: number
  /** Of a request under an idempotency key. */
  readonly claim?: KeyClaim | undefined
}

/** A movement's place in its window. */
type Moved = Pick<TokenMovementRow, "ordinal" | "total_after">

export type ChargeResult =
  | ({ readonly ok: true } & Moved)
  /** The window's total would pass 2^53−1; nothing was charged. */
  | { readonly ok: false; readonly reason: "overflow" }
  /** The key has a record already, sealed by another process; nothing was charged. */
  | { readonly ok: false; readonly reason: "sealed" }

/**
 * Makes charges in one transaction, as if one after the other in the order given: every total differs from every other
 * (unless nothing was charged) and none is lost, also when other processes charge at the same time. At most a batch of them. A
 * retry under an idempotency key whose request is charged in this window already takes over that charge instead.
 * @throws StoreError "conflict" for a `charge_id` that exists; none of the batch was charged then
 */
export async function chargeWindows(db: Database, charges: readonly Charge[]): Promise<readonly ChargeResult[]> {
  const together = charges.every(({ claim }) => claim === undefined) ? await chargeTogether(db, charges) : undefined
  return together ?? chargeInTurn(db, charges)
}

/**
 * Makes charges without keys by one statement, which adds each window's tokens all at once; undefined when that would take one
 * of them beyond 2^53−1: nothing was charged then.
 */
async function chargeTogether(db: Database, charges: readonly Charge[]): Promise<readonly ChargeResult[] | undefined> {
  const windows = new Map<string, TenantWindowRow>()
  // From the last to the first: what a window holds by then is what later charges of it add.
  const made = charges
    .toReversed()
    .map(charge => {
      const name = windowName(charge)
      const { charge_id, tenant_id, window_seconds, window_start, tokens, charged_at: moved_at } = charge
      const { total: later, movements: later_movements } = windows.get(name) ?? { total: 0, movements: 0 }
      const window = { tenant_id, window_seconds, window_start }
      windows.set(name, { ...window, total: later + tokens, movements: later_movements + 1 })
      return { charge_id, ...window, tokens, moved_at, later, later_movements }
    })
    .reverse()
  if (![...windows.values()].every(({ total }) => Number.isSafeInteger(total))) return undefined
  const rows = await addCharges(db, [...windows.values()], made)
  if (rows === undefined) return undefined
  const moved = new Map(rows.map(row => [row.charge_id, row]))
  return charges.map(({ charge_id }) => {
    const row = moved.get(charge_id)
    if (row === undefined) throw new StoreError("corrupt")
    return { ok: true, ordinal: row.ordinal, total_after: row.total_after }
  })
}

/** SQLSTATE of a row that a CHECK refuses, PostgreSQL documentation "Error Codes": a window's total is at most 2^53−1. */
const CHECK_VIOLATION = "23514"

/** A charge, with what the charges after it in the batch add to its window. */
type MadeCharge = Omit<TokenMovementRow, "kind" | "ordinal" | "total_after"> & {
  readonly later: number
  readonly later_movements: number
}

type MovedCharge = Pick<TokenMovementRow, "charge_id" | "ordinal" | "total_after">

/** Locks the windows, always in the same order. @returns undefined when a total would be too large */
async function addCharges(
  db: Database,
  windows: readonly TenantWindowRow[],
  charges: readonly MadeCharge[],
): Promise<readonly MovedCharge[] | undefined> {
  try {
    return await db.write(
      async ({ sql }) => sql<MovedCharge[]>`
        with moved as (
          insert into tenant_window as stored (tenant_id, window_seconds, window_start, total, movements)
          select tenant_id collate "C", window_seconds, window_start, total, movements
          from json_to_recordset(${JSON.stringify(windows)}::text::json)
            as added(tenant_id text, window_seconds bigint, window_start bigint, total bigint, movements bigint)
          order by 1, 2, 3
          on conflict (tenant_id, window_seconds, window_start) do update
            set total = stored.total + excluded.total, movements = stored.movements + excluded.movements
          returning tenant_id, window_seconds, window_start, total, movements
        )
        insert into token_movement
          (charge_id, kind, tenant_id, window_seconds, window_start, ordinal, tokens, total_after, moved_at)
        select charge_id, 'charge', tenant_id, window_seconds, window_start, movements - later_movements, tokens,
          total - later, moved_at
        from moved join json_to_recordset(${JSON.stringify(charges)}::text::json)
          as made(charge_id text, tenant_id text, window_seconds bigint, window_start bigint, tokens bigint,
            moved_at bigint, later bigint, later_movements bigint)
          using (tenant_id, window_seconds, window_start)
        returning charge_id, ordinal, total_after`,
    )
  } catch (error) {
    if (error instanceof StoreError && error.sqlstate === CHECK_VIOLATION) return undefined
    throw error
  }
}

/** Makes charges one after the other in a transaction of several statements. Keys are locked before windows. */
function chargeInTurn(db: Database, charges: readonly Charge[]): Promise<readonly ChargeResult[]> {
  return db.transactionFrom(
    tx => sentTogether([lockClaims(tx, charges), lockWindows(tx, charges)]),
    async (tx, [keys, locked]) => {
      const earlier = await earlierAttempts(tx, charges, keys)
      const windows = new Map(locked.map(window => [windowName(window), window]))
      const results = charges.map((charge): ChargeResult => {
        const attempt = earlier.get(charge)
        if (attempt !== undefined) return attempt.result
        const window = windows.get(windowName(charge))
        if (window === undefined) throw new StoreError("corrupt")
        if (charge.tokens > Number.MAX_SAFE_INTEGER - window.total) return { ok: false, reason: "overflow" }
        const moved = { ...window, total: window.total + charge.tokens, movements: window.movements + 1 }
        windows.set(windowName(charge), moved)
        return { ok: true, ordinal: moved.movements, total_after: moved.total }
      })
      const made = charges.flatMap((charge, at): TokenMovementRow[] => {
        const result = results[at]
        if (!result?.ok || earlier.has(charge)) return []
        const { claim: _, charged_at: moved_at, ...row } = charge
        return [{ ...row, kind: "charge", ordinal: result.ordinal, total_after: result.total_after, moved_at }]
      })
      const charged = charges.filter((_, at) => results[at]?.ok)
      await sentTogether([
        moveWindows(tx, [...windows.values()]),
        insertMovements(tx, made),
        ...writeCharges(tx, charged, earlier),
      ])
      return results
    },
  )
}

/** A window's total and how many movements made it; both 0 for a window in which nothing was charged. */
export function readWindow(source: Source, key: WindowKey): Promise<Pick<TenantWindowRow, "total" | "movements">> {
  const { tenant_id, window_seconds, window_start, total, movements } = tenant_window
  const ofKey = and(
    eq(tenant_id, key.tenant_id),
    eq(window_seconds, key.window_seconds),
    eq(window_start, key.window_start),
  )
  return source.read(async ({ orm }) => {
    const [window] = await orm.select({ total, movements }).from(tenant_window).where(ofKey)
    return window ?? { total: 0, movements: 0 }
  })
}

/** Locks the windows, always in the same order, and makes those that are missing: one statement for both. */
export async function lockWindows({ sql }: Tx, keys: readonly WindowKey[]): Promise<readonly TenantWindowRow[]> {
  // Awaited here, so that it is sent now: before the statements that are sent together with it.
  const windows = await sql<TenantWindowRow[]>`
    insert into tenant_window as stored (tenant_id, window_seconds, window_start, total, movements)
    select distinct tenant_id collate "C", window_seconds, window_start, 0, 0
    from json_to_recordset(${JSON.stringify(keys)}::text::json)
      as wanted(tenant_id text, window_seconds bigint, window_start bigint)
    order by 1, 2, 3
    on conflict (tenant_id, window_seconds, window_start) do update set total = stored.total
    returning tenant_id, window_seconds, window_start, total, movements`
  return windows
}

/** Writes the totals of windows that this transaction has locked. */
export async function moveWindows({ sql }: Tx, windows: readonly TenantWindowRow[]): Promise<void> {
  if (windows.length === 0) return
  await sql`
    update tenant_window set total = next.total, movements = next.movements
    from json_to_recordset(${JSON.stringify(windows)}::text::json)
      as next(tenant_id text, window_seconds bigint, window_start bigint, total bigint, movements bigint)
    where tenant_window.tenant_id = next.tenant_id and tenant_window.window_seconds = next.window_seconds
      and tenant_window.window_start = next.window_start`
}

/** Stores the movements that made the totals. */
export const insertMovements = (tx: Tx, movements: readonly TokenMovementRow[]): Promise<void> =>
  insertRows(tx, token_movement, movements)

// Charges of requests under idempotency keys. There are no refunds: a retry of an attempt that ended before its record was sealed
// takes over its charge, so that a request is charged once however often it is retried.

/** What an earlier attempt at a request leaves to its retry. */
type EarlierAttempt = {
  /** The charge that is taken over; "" when the key has its record. */
  readonly charge_id: string
  readonly result: ChargeResult
}

/** Locks the keys of these charges and gives the state of each. No statement without keys. */
const lockClaims = (tx: Tx, charges: readonly Charge[]): Promise<ReadonlyMap<string, KeyState>> =>
  lockKeys(
    tx,
    charges.flatMap(({ claim }) => claim ?? []),
    Math.max(...charges.map(({ charged_at }) => charged_at)),
  )

/**
 * Finds the attempts that need no charge of their own. No statement without keys.
 * @param keys the states of the keys of these charges, which are locked
 */
async function earlierAttempts(
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
function writeCharges(
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

// Charges wait for each other: one transaction makes those of many runs.

/** Charges one transaction makes. */
const MAX_CHARGES_PER_BATCH = 256
/** Charges of each kind that may wait; one more is refused at once. */
export const MAX_WAITING_CHARGES = 4096

export type BudgetLedger = Upstream & {
  /**
   * Resolves when the charge is durable.
   * @throws StoreError "unavailable" when too many wait or the ledger is closed; otherwise what its batch met
   */
  readonly charge: (charge: Charge) => Promise<ChargeResult>
  /** Refuses new charges and resolves when those that wait are settled. */
  readonly close: () => Promise<void>
}

export function createBudgetLedger(db: Database): BudgetLedger {
  const bounds = { batch: MAX_CHARGES_PER_BATCH, waiting: MAX_WAITING_CHARGES }
  const group = () => createGroupCommit<Charge, ChargeResult>(batch => chargeWindows(db, batch), bounds)
  // A charge under an idempotency key may wait for a batch of another process that seals under it: those without a key do not.
  const [plain, keyed] = [group(), group()]
  return {
    charge: charge => (charge.claim === undefined ? plain : keyed).submit(charge),
    underWay: () => plain.underWay() ?? keyed.underWay(),
    close: async () => void (await Promise.all([plain.close(), keyed.close()])),
  }
}
