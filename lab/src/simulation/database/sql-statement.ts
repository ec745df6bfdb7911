/** What a statement of SQL does to the simulated database. */
import type { Cell, Row, TableShape } from "./simulated-rows.ts"

/** A condition on a row. */
export type Condition = (row: Row, parameters: readonly Cell[]) => boolean
/** A value of a new row, computed from its source row. */
export type Expression = (from: Row, parameters: readonly Cell[]) => Cell

/** A row of an answer: a join may have nothing for a column. */
export type AnsweredRow = Readonly<Record<string, Cell | null>>
/** A read of several tables. @param rows those of a table, as the transaction sees them */
export type Query = (rows: (table: string) => readonly Row[], parameters: readonly Cell[]) => readonly AnsweredRow[]

type Source = {
  /** The rows that the statement reads, in its order. */
  readonly rows: (parameters: readonly Cell[]) => readonly Row[]
}

export type Conflict =
  | { readonly kind: "refuse" }
  | { readonly kind: "skip" }
  | { readonly kind: "lock" }
  /** Adds the new row's number in this column to that of the row that exists. */
  | { readonly kind: "add"; readonly sum: string }

export type Statement =
  | {
      readonly kind: "select"
      readonly shape: TableShape
      readonly columns: readonly string[]
      readonly where: Condition
      readonly order: readonly string[]
      readonly lock: boolean
    }
  | {
      readonly kind: "insert"
      readonly shape: TableShape
      readonly source: Source
      readonly conflict: Conflict
      readonly returning: readonly string[]
    }
  | {
      readonly kind: "update"
      readonly shape: TableShape
      readonly source: Source | { readonly table: string }
      /** Whether a row of the table belongs to a row of the source. */
      readonly matches: (row: Row, from: Row, parameters: readonly Cell[]) => boolean
      readonly set: (row: Row, from: Row, parameters: readonly Cell[]) => Row
    }
  | {
      readonly kind: "charge"
      /** Windows with the tokens added to each, and the charges of that sum. */
      readonly windows: Source
      readonly charges: Source
      /** Whether a window's total before is retained. */
      readonly adds: boolean
    }
  | { readonly kind: "query"; readonly query: Query }
  | { readonly kind: "newest ordinals"; readonly owners: (parameters: readonly Cell[]) => readonly Cell[] }
  | { readonly kind: "sweep" }
  /** Locks a number until the transaction ends. */
  | { readonly kind: "advisory lock" }
  | { readonly kind: "begin" | "commit" | "rollback" }
