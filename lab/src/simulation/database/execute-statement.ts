/** Executes a statement in a transaction. */

import { type Cell, type Row, shapeNamed, sorted, valuesOf } from "./simulated-rows.ts"
import type { AnsweredRow, Statement } from "./sql-statement.ts"
import { DatabaseError, type Transaction, type Transactions } from "./transactions.ts"

/** A statement's result: rows, their number, and the command's name. */
export type Answer = { readonly rows: readonly AnsweredRow[]; readonly count: number; readonly command: string }

const chosen = (row: Row, columns: readonly string[]): Row =>
  Object.fromEntries(columns.map(column => [column, row[column] ?? ""]))

/** @throws MustWait, DatabaseError */
export function execute(
  database: Transactions,
  tx: Transaction,
  statement: Statement,
  parameters: readonly Cell[],
  blind: boolean,
): Answer {
  switch (statement.kind) {
    case "select":
      return select(database, tx, statement, parameters)
    case "insert":
      return insert(database, tx, statement, parameters)
    case "update":
      return update(database, tx, statement, parameters, blind)
    case "charge":
      return charge(database, tx, statement, parameters)
    case "query": {
      const rows = statement.query(table => database.rows(tx, shapeNamed(table)), parameters)
      return { rows, count: rows.length, command: "SELECT" }
    }
    case "newest ordinals":
      return newestOrdinals(database, tx, statement.owners(parameters))
    case "advisory lock":
      database.lockNumber(tx, Number(parameters[0]))
      return { rows: [], count: 1, command: "SELECT" }
    case "sweep":
      return { rows: [], count: 0, command: "DELETE" }
    default:
      throw new Error("begin, commit and rollback are the session's")
  }
}

type Form<Kind extends Statement["kind"]> = Extract<Statement, { kind: Kind }>

function select(
  database: Transactions,
  tx: Transaction,
  { shape, columns, where, order, lock }: Form<"select">,
  parameters: readonly Cell[],
): Answer {
  const rows = sorted(
    database.rows(tx, shape).filter(row => where(row, parameters)),
    order,
  )
  if (lock) for (const row of rows) database.lockRow(tx, shape, row)
  return { rows: rows.map(row => chosen(row, columns)), count: rows.length, command: "SELECT" }
}

function insert(
  database: Transactions,
  tx: Transaction,
  { shape, source, conflict, returning }: Form<"insert">,
  parameters: readonly Cell[],
): Answer {
  const made = source.rows(parameters).map(row => {
    const whole = { ...shape.defaults, ...row }
    const empty = shape.columns.filter(column => whole[column] === undefined)
    if (empty.length > 0) throw new DatabaseError("23502", `null value in ${shape.name}: ${empty.join(", ")}`)
    const there = database.insert(tx, shape, whole)
    if (there === undefined) return whole
    if (conflict.kind === "refuse") throw new DatabaseError("23505", `duplicate key in ${shape.name}`)
    if (conflict.kind === "skip") return undefined
    database.lockRow(tx, shape, there)
    if (conflict.kind === "lock") return there
    const summed = { ...there, [conflict.sum]: Number(there[conflict.sum]) + Number(whole[conflict.sum]) }
    database.replace(tx, shape, there, summed)
    return summed
  })
  const touched = made.filter(row => row !== undefined)
  const rows = returning.length === 0 ? [] : touched.map(row => chosen(row, returning))
  return { rows, count: touched.length, command: "INSERT" }
}

function update(
  database: Transactions,
  tx: Transaction,
  { shape, source, matches, set }: Form<"update">,
  parameters: readonly Cell[],
  blind: boolean,
): Answer {
  let count = 0
  const sources = "table" in source ? database.rows(tx, shapeNamed(source.table)) : source.rows(parameters)
  for (const from of sources) {
    const found = database
      .rows(tx, shape)
      .filter(row => (blind && shape.name === "log_head") || matches(row, from, parameters))
    for (const row of found) {
      database.lockRow(tx, shape, row)
      database.replace(tx, shape, row, set(row, from, parameters))
      count++
    }
  }
  return { rows: [], count, command: "UPDATE" }
}

/** Locks windows one after the other, adds to their totals, and inserts the charges with the new totals. */
function charge(
  database: Transactions,
  tx: Transaction,
  { windows, charges, adds }: Form<"charge">,
  parameters: readonly Cell[],
): Answer {
  const [window, token_movement] = [shapeNamed("tenant_window"), shapeNamed("token_movement")]
  const nameOf = (row: Row): string => valuesOf(row, window.key)
  const after = new Map<string, { readonly total: number; readonly movements: number }>()
  for (const added of windows.rows(parameters)) {
    const there = database.insert(tx, window, added)
    if (there !== undefined) database.lockRow(tx, window, there)
    const total = Number(added.total) + (adds ? Number(there?.total ?? 0) : 0)
    const movements = Number(added.movements) + Number(there?.movements ?? 0)
    if (total > Number.MAX_SAFE_INTEGER) throw new DatabaseError("23514", "a row violates a check of tenant_window")
    if (there !== undefined) database.replace(tx, window, there, { ...there, total, movements })
    after.set(nameOf(added), { total, movements })
  }
  const made = charges.rows(parameters).map(from => {
    const { total = 0, movements = 0 } = after.get(nameOf(from)) ?? {}
    const ordinal = movements - Number(from.later_movements)
    const row = { ...from, kind: "charge", ordinal, total_after: total - Number(from.later) }
    const added = chosen(row, token_movement.columns)
    if (database.insert(tx, token_movement, added) !== undefined)
      throw new DatabaseError("23505", "duplicate key in token_movement")
    return chosen(row, ["charge_id", "ordinal", "total_after"])
  })
  return { rows: made, count: made.length, command: "INSERT" }
}

function newestOrdinals(database: Transactions, tx: Transaction, owners: readonly Cell[]): Answer {
  const all = database.rows(tx, shapeNamed("attestation"))
  const rows = owners.map(owner => {
    const ordinals = all.filter(row => row.owner === Number(owner)).map(row => Number(row.owner_ordinal))
    return { owner: Number(owner), newest: Math.max(0, ...ordinals) }
  })
  return { rows, count: rows.length, command: "SELECT" }
}
