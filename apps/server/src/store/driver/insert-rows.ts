/** Inserts many rows with few statements: the fastest way that both databases offer (the embedded one has no COPY). */
import { getTableColumns, getTableName } from "drizzle-orm"
import type { PgTable } from "drizzle-orm/pg-core"
import type { Session } from "./session.ts"

/**
 * Most rows of one statement. A statement takes a power of two of the remaining rows. So there are seven statements per table, which
 * the server parses and plans once, and a batch of any size needs few of them. The query builder would build each of them anew.
 */
const MOST_ROWS = 64

/** Statements by table and number of rows, written once. Tables are names from the code: there are few. */
const statements = new Map<string, string>()

type Cell = string | number | boolean | Uint8Array

/** A row as the driver sends it, and nothing besides. */
type SentRow<Table extends PgTable> = Readonly<Record<string, Cell>> & {
  readonly [Name in keyof Table["$inferSelect"]]: Extract<Table["_"]["columns"][Name]["_"]["driverParam"], Cell>
}

/** Inserts rows. The statements are sent together and none waits for the answer to another. */
export async function insertRows<Table extends PgTable>(
  { sql }: Session,
  table: Table,
  rows: readonly SentRow<Table>[],
): Promise<void> {
  const columns = Object.keys(getTableColumns(table))
  const sent: PromiseLike<unknown>[] = []
  for (let first = 0; first < rows.length; ) {
    const count = Math.min(MOST_ROWS, 2 ** Math.floor(Math.log2(rows.length - first)))
    const cells = rows.slice(first, first + count).flatMap(row => columns.map(column => row[column] ?? missing(column)))
    sent.push(sql.unsafe(statementOf(getTableName(table), columns, count), cells, { prepare: true }))
    first += count
  }
  await Promise.all(sent)
}

function missing(column: string): never {
  throw new TypeError(`a row to insert has no ${column}`)
}

function statementOf(table: string, columns: readonly string[], count: number): string {
  const name = `${table} ${count}`
  const known = statements.get(name)
  if (known !== undefined) return known
  const rowOf = (row: number): string => `(${columns.map((_, at) => `$${row * columns.length + at + 1}`).join(",")})`
  const values = Array.from({ length: count }, (_, row) => rowOf(row)).join(",")
  const statement = `insert into ${table} (${columns.join(",")}) values ${values}`
  statements.set(name, statement)
  return statement
}
