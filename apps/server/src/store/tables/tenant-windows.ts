/**
 * Cumulative token budgets: what each tenant has charged in each fixed window. docs/pipeline.md, "Gates".
 * What charges is hand-written: one statement for a whole batch, as a JSON text.
 */
import { and, eq, sql as fragment } from "drizzle-orm"
import { check, pgTable, primaryKey, text } from "drizzle-orm/pg-core"
import type { Database } from "../driver/database.ts"
import { insertRows } from "../driver/insert-rows.ts"
import type { Source, Tx } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { sentTogether } from "../driver/transaction.ts"
import { number, type RowOf } from "./column-types.ts"
import type { KeyClaim } from "./idempotency-keys.ts"
import { earlierAttempts, lockClaims, writeCharges } from "./keyed-charges.ts"

/** A tenant's token total in one fixed window. */
export const tenant_window = pgTable(
  "tenant_window",
  {
    tenant_id: text().notNull(),
    window_seconds: number(),
    /** Milliseconds since the epoch. */
    window_start: number(),
    total: number(),
  },
  table => [
    primaryKey({ columns: [table.tenant_id, table.window_seconds, table.window_start] }),
    check("tenant_window_exact", fragment`${table.total} between 0 and 9007199254740991`),
  ],
)

/** A charge of the MACC gate. There is no refund, whatever becomes of its run. */
export const token_charge = pgTable("token_charge", {
  charge_id: text().primaryKey(),
  tenant_id: text().notNull(),
  window_seconds: number(),
  window_start: number(),
  tokens: number(),
  /** The window's total right after this charge. */
  total_after: number(),
  /** Milliseconds since the epoch. */
  charged_at: number(),
})

export type TenantWindowRow = RowOf<typeof tenant_window>
export type TokenChargeRow = RowOf<typeof token_charge>

/** A charge to make. `charge_id` is new each time; `tokens` is a count of at most 2^53−1. */
export type Charge = Omit<TokenChargeRow, "total_after"> & {
  /** Of a request under an idempotency key. */
  readonly claim?: KeyClaim | undefined
}

/** A tenant's window: fixed, aligned to the epoch; `window_start` in milliseconds. */
type WindowKey = Omit<TenantWindowRow, "total">

export type ChargeResult =
  | { readonly ok: true; readonly total_after: number }
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
      const name = nameOf(charge)
      const { tenant_id, window_seconds, window_start, tokens } = charge
      const later = windows.get(name)?.total ?? 0
      windows.set(name, { tenant_id, window_seconds, window_start, total: later + tokens })
      return { ...charge, later }
    })
    .reverse()
  if (![...windows.values()].every(({ total }) => Number.isSafeInteger(total))) return undefined
  const rows = await addCharges(db, [...windows.values()], made)
  if (rows === undefined) return undefined
  const totals = new Map(rows.map(({ charge_id, total_after }) => [charge_id, total_after]))
  return charges.map(({ charge_id }) => {
    const total_after = totals.get(charge_id)
    if (total_after === undefined) throw new StoreError("corrupt")
    return { ok: true, total_after }
  })
}

/** SQLSTATE of a row that a CHECK refuses, PostgreSQL documentation "Error Codes": a window's total is at most 2^53−1. */
const CHECK_VIOLATION = "23514"

/** Locks the windows, always in the same order. @returns undefined when a total would be too large */
async function addCharges(
  db: Database,
  windows: readonly TenantWindowRow[],
  charges: readonly (Charge & { readonly later: number })[],
): Promise<readonly Pick<TokenChargeRow, "charge_id" | "total_after">[] | undefined> {
  try {
    return await db.write(
      async ({ sql }) => sql<Pick<TokenChargeRow, "charge_id" | "total_after">[]>`
        with moved as (
          insert into tenant_window as stored (tenant_id, window_seconds, window_start, total)
          select tenant_id collate "C", window_seconds, window_start, total
          from json_to_recordset(${JSON.stringify(windows)}::text::json)
            as added(tenant_id text, window_seconds bigint, window_start bigint, total bigint)
          order by 1, 2, 3
          on conflict (tenant_id, window_seconds, window_start) do update set total = stored.total + excluded.total
          returning tenant_id, window_seconds, window_start, total
        )
        insert into token_charge (charge_id, tenant_id, window_seconds, window_start, tokens, total_after, charged_at)
        select charge_id, tenant_id, window_seconds, window_start, tokens, total - later, charged_at
        from moved join json_to_recordset(${JSON.stringify(charges)}::text::json)
          as made(charge_id text, tenant_id text, window_seconds bigint, window_start bigint, tokens bigint,
            later bigint, charged_at bigint)
          using (tenant_id, window_seconds, window_start)
        returning charge_id, total_after`,
    )
  } catch (error) {
    if (error instanceof StoreError && error.sqlstate === CHECK_VIOLATION) return undefined
    throw error
  }
}

/** Makes charges one after the other in a transaction of several statements. */
function chargeInTurn(db: Database, charges: readonly Charge[]): Promise<readonly ChargeResult[]> {
  return db.transactionFrom(
    tx => sentTogether([lockWindows(tx, charges), lockClaims(tx, charges)]),
    async (tx, [windows, keys]) => {
      const earlier = await earlierAttempts(tx, charges, keys)
      const totals = new Map(windows.map(window => [nameOf(window), window.total]))
      const results = charges.map((charge): ChargeResult => {
        const attempt = earlier.get(charge)
        if (attempt !== undefined) return attempt.result
        const total = totals.get(nameOf(charge)) ?? 0
        if (charge.tokens > Number.MAX_SAFE_INTEGER - total) return { ok: false, reason: "overflow" }
        totals.set(nameOf(charge), total + charge.tokens)
        return { ok: true, total_after: total + charge.tokens }
      })
      const made = charges.flatMap((charge, at) => {
        const result = results[at]
        if (!result?.ok || earlier.has(charge)) return []
        const { claim: _, ...row } = charge
        return [{ ...row, total_after: result.total_after }]
      })
      const charged = charges.filter((_, at) => results[at]?.ok)
      await sentTogether([
        moveWindows(
          tx,
          windows.map(window => ({ ...window, total: totals.get(nameOf(window)) ?? window.total })),
        ),
        insertRows(tx, token_charge, made),
        ...writeCharges(tx, charged, earlier),
      ])
      return results
    },
  )
}

/** The tokens charged so far; 0 for a window nobody has charged. */
export function readWindowTotal(source: Source, key: WindowKey): Promise<number> {
  const { tenant_id, window_seconds, window_start, total } = tenant_window
  const ofKey = and(
    eq(tenant_id, key.tenant_id),
    eq(window_seconds, key.window_seconds),
    eq(window_start, key.window_start),
  )
  return source.read(async ({ orm }) => {
    const [window] = await orm.select({ total }).from(tenant_window).where(ofKey)
    return window?.total ?? 0
  })
}

/** Locks the windows, always in the same order, and makes those that are missing: one statement for both. */
async function lockWindows({ sql }: Tx, keys: readonly WindowKey[]): Promise<readonly TenantWindowRow[]> {
  // Awaited here, so that it is sent now: before the statements that are sent together with it.
  const windows = await sql<TenantWindowRow[]>`
    insert into tenant_window as stored (tenant_id, window_seconds, window_start, total)
    select distinct tenant_id collate "C", window_seconds, window_start, 0
    from json_to_recordset(${JSON.stringify(keys)}::text::json)
      as wanted(tenant_id text, window_seconds bigint, window_start bigint)
    order by 1, 2, 3
    on conflict (tenant_id, window_seconds, window_start) do update set total = stored.total
    returning tenant_id, window_seconds, window_start, total`
  return windows
}

async function moveWindows({ sql }: Tx, windows: readonly TenantWindowRow[]): Promise<void> {
  await sql`
    update tenant_window set total = next.total
    from json_to_recordset(${JSON.stringify(windows)}::text::json)
      as next(tenant_id text, window_seconds bigint, window_start bigint, total bigint)
    where tenant_window.tenant_id = next.tenant_id and tenant_window.window_seconds = next.window_seconds
      and tenant_window.window_start = next.window_start`
}

const nameOf = ({ tenant_id, window_seconds, window_start }: WindowKey): string =>
  JSON.stringify([tenant_id, window_seconds, window_start])
