/** Many rows in few statements: the fastest way in that both databases offer (the embedded one has no COPY). */
import type { Session } from "./session.ts"

/**
 * Rows of one statement: as many as still wait, down to a power of two. So there are seven statements a table, which the server
 * parses and plans once, and a batch of whatever size needs few of them.
 */
const MOST_ROWS = 64

type Cell = string | number | Uint8Array

/** Statements by table and number of rows, written once. Tables are names from the code: there are few. */
const statements = new Map<string, string>()

/**
 * Inserts rows. The statements are sent together and none waits for the answer to another.
 * @param table and `columns` are names from the code, never from a caller
 */
export async function insertRows<Name extends string>(
  { sql }: Session,
  table: string,
  columns: readonly Name[],
  rows: readonly { readonly [Column in Name]: Cell }[],
): Promise<void> {
  const sent: PromiseLike<unknown>[] = []
  for (let first = 0; first < rows.length; ) {
    const count = Math.min(MOST_ROWS, 2 ** Math.floor(Math.log2(rows.length - first)))
    const cells = rows.slice(first, first + count).flatMap(row => columns.map(column => row[column]))
    sent.push(sql.unsafe(statementOf(table, columns, count), cells, { prepare: true }))
    first += count
  }
  await Promise.all(sent)
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
