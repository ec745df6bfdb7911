/**
 * Transactions of the simulated database, at PostgreSQL's level READ COMMITTED: a statement sees rows that were committed before
 * it started, and its own transaction's writes; a row that is written or locked stays locked until the transaction ends, and
 * other transactions wait for it in a queue. A cycle of waits is a deadlock, and the transaction that would close it is refused.
 */
import { keyOf, type Row, type Snapshot, type TableRows, type TableShape, valuesOf } from "./simulated-rows.ts"

/** An error of the database. */
export class DatabaseError extends Error {
  override readonly name = "PostgresError"
  /** SQLSTATE, PostgreSQL documentation "Error Codes". */
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Thrown by a statement that must wait for a lock; it is run again when it has the lock. */
export class MustWait extends Error {
  override readonly name = "MustWait"
}

export type Transaction = {
  readonly name: string
  readonly writes: Map<string, Map<string, Row | undefined>>
  readonly locks: Set<string>
  waitsFor: string | undefined
  /** Called when it has the lock that it waits for. */
  readonly proceed: () => void
}

type Lock = { holder: Transaction; readonly queue: Transaction[] }

/** Deliberate defects of a database, to show that the check fails. */
export type Defect =
  | "locks nothing"
  | "loses a write of a commit"
  | "acknowledges what it rolled back"
  | "reads what is not committed"
  | "updates without looking"

export type Transactions = {
  readonly begin: (name: string, proceed: () => void) => Transaction
  readonly commit: (tx: Transaction) => void
  readonly rollback: (tx: Transaction) => void
  /** Removes the transaction from the queue of a lock. */
  readonly stopWaiting: (tx: Transaction) => void
  /** Rows as the transaction sees them. */
  readonly rows: (tx: Transaction, shape: TableShape) => readonly Row[]
  /** Locks a row by its key. @throws MustWait, DatabaseError 40P01 */
  readonly lockRow: (tx: Transaction, shape: TableShape, row: Row) => void
  /** Locks a number, as an advisory lock of a transaction. @throws MustWait, DatabaseError 40P01 */
  readonly lockNumber: (tx: Transaction, key: number) => void
  /** Inserts a row; gives the existing row with the same key instead, if there is one. @throws MustWait, DatabaseError 40P01 */
  readonly insert: (tx: Transaction, shape: TableShape, row: Row) => Row | undefined
  /** Replaces a locked row; undefined removes it. */
  readonly replace: (tx: Transaction, shape: TableShape, old: Row, row: Row | undefined) => void
  /** Everything committed. */
  readonly committed: () => Snapshot
}

export type TransactionOptions = {
  readonly start: Snapshot
  readonly defects: ReadonlySet<Defect>
  /** Called after every commit that wrote something. */
  readonly onCommit: (state: Snapshot) => void
  readonly onDeadlock: () => void
}

export function openTransactions({ start, defects, onCommit, onDeadlock }: TransactionOptions): Transactions {
  let committed = start
  const locks = new Map<string, Lock>()
  const open = new Set<Transaction>()

  const acquire = (tx: Transaction, name: string): void => {
    if (defects.has("locks nothing")) return
    const lock = locks.get(name)
    if (lock?.holder === tx) return
    if (lock === undefined) {
      locks.set(name, { holder: tx, queue: [] })
      tx.locks.add(name)
      return
    }
    if (waitsOn(lock.holder, tx)) {
      onDeadlock()
      throw new DatabaseError("40P01", "deadlock detected")
    }
    lock.queue.push(tx)
    tx.waitsFor = name
    throw new MustWait()
  }
  /** Whether a transaction waits, through however many others, for this one. */
  const waitsOn = (waiting: Transaction, tx: Transaction): boolean => {
    if (waiting === tx) return true
    const holder = waiting.waitsFor === undefined ? undefined : locks.get(waiting.waitsFor)?.holder
    return holder !== undefined && waitsOn(holder, tx)
  }
  const stopWaiting = (tx: Transaction): void => {
    const queue = tx.waitsFor === undefined ? undefined : locks.get(tx.waitsFor)?.queue
    if (queue?.includes(tx)) queue.splice(queue.indexOf(tx), 1)
    tx.waitsFor = undefined
  }
  const end = (tx: Transaction): void => {
    stopWaiting(tx)
    open.delete(tx)
    for (const name of tx.locks) {
      const lock = locks.get(name)
      const next = lock?.queue.shift()
      if (lock === undefined || next === undefined) locks.delete(name)
      else {
        lock.holder = next
        next.locks.add(name)
        next.waitsFor = undefined
        next.proceed()
      }
    }
  }
  const visible = (tx: Transaction, shape: TableShape): TableRows => {
    const before = committed.get(shape.name) ?? new Map()
    const seen = defects.has("reads what is not committed") ? [...open] : [tx]
    const written = seen.flatMap(({ writes }) => [...(writes.get(shape.name) ?? [])])
    return written.length === 0 ? before : withWrites(before, written)
  }
  const write = (tx: Transaction, shape: TableShape, key: string, row: Row | undefined): void => {
    const written = tx.writes.get(shape.name) ?? new Map<string, Row | undefined>()
    tx.writes.set(shape.name, written.set(key, row))
  }
  const sharing = (tx: Transaction, shape: TableShape, row: Row): Row | undefined => {
    const sets = [shape.key, ...shape.uniques].map(columns => ({ columns, values: valuesOf(row, columns) }))
    return [...visible(tx, shape).values()].find(there =>
      sets.some(({ columns, values }) => valuesOf(there, columns) === values),
    )
  }
  return {
    begin: (name, proceed) => {
      const tx = { name, writes: new Map(), locks: new Set<string>(), waitsFor: undefined, proceed }
      open.add(tx)
      return tx
    },
    commit: tx => {
      if (!defects.has("acknowledges what it rolled back") || tx.writes.size < 3) {
        const tables = [...tx.writes].map(([name, written], at) => {
          const lost = defects.has("loses a write of a commit") && at > 2
          return [
            name,
            withWrites(committed.get(name) ?? new Map(), lost ? [...written].slice(1) : [...written]),
          ] as const
        })
        committed = new Map([...committed, ...tables])
        if (tables.length > 0) onCommit(committed)
      }
      end(tx)
    },
    rollback: end,
    stopWaiting,
    rows: (tx, shape) => [...visible(tx, shape).values()],
    lockNumber: (tx, key) => acquire(tx, `advisory ${key}`),
    lockRow: (tx, shape, row) => acquire(tx, lockName(shape, shape.key, row)),
    insert: (tx, shape, row) => {
      const there = sharing(tx, shape, row)
      if (there !== undefined) return there
      // Other transactions may be inserting it: their end decides whether it exists.
      for (const columns of [shape.key, ...shape.uniques]) acquire(tx, lockName(shape, columns, row))
      write(tx, shape, keyOf(shape, row), row)
      return undefined
    },
    replace: (tx, shape, old, row) => {
      const key = keyOf(shape, old)
      if (row === undefined || keyOf(shape, row) !== key) write(tx, shape, key, undefined)
      if (row !== undefined) write(tx, shape, keyOf(shape, row), row)
    },
    committed: () => committed,
  }
}

const lockName = (shape: TableShape, columns: readonly string[], row: Row): string =>
  `${shape.name} (${columns.join(", ")}) ${valuesOf(row, columns)}`

function withWrites(rows: TableRows, written: readonly (readonly [string, Row | undefined])[]): TableRows {
  const next = new Map(rows)
  for (const [key, row] of written) {
    if (row === undefined) next.delete(key)
    else next.set(key, row)
  }
  return next
}
