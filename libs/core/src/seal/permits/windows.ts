/** Windows of budgets, as the movements of permits change them. */
import type { MovementKind } from "../../vocabulary/movement-kind.ts"

/** A tenant's window: fixed, aligned to the epoch; `window_start` in milliseconds. */
export type WindowKey = {
  readonly tenant_id: string
  readonly window_seconds: number
  readonly window_start: number
}

/** A window as it is, or as it is afterwards. */
export type WindowTotals = WindowKey & {
  readonly total: number
  /** How many movements made the total: the ordinal of the last one. */
  readonly movements: number
}

/** One movement of a window's total. */
export type WindowMovement = WindowKey & {
  /** Of a run, or of a permit for all of its movements. */
  readonly charge_id: string
  readonly kind: MovementKind
  /** 1, 2, 3 … without a gap within the window. */
  readonly ordinal: number
  /** What was added to the total; negative where it was lowered. */
  readonly tokens: number
  /** The window's total right after this movement. */
  readonly total_after: number
  /** Milliseconds since the epoch. */
  readonly moved_at: number
}

/** A window as one text. */
export const windowName = ({ tenant_id, window_seconds, window_start }: WindowKey): string =>
  JSON.stringify([tenant_id, window_seconds, window_start])
