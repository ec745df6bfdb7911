/** Many rows in one statement: the fastest way in that both databases offer (the embedded one has no COPY). */
import type { Session } from "./session.ts"

/** Rows of one statement; its parameters stay far below the protocol's 65,535. */
const ROWS_PER_STATEMENT = 512

type Cell = string | number | Uint8Array

/**
 * Inserts rows. The statements are not prepared: each number of rows would leave a large plan of its own in the server.
 * @param table and `columns` are names from the code, never from a caller
 */
export async function insertRows<Name extends string>(
  { sql }: Session,
  table: string,
  columns: readonly Name[],
  rows: readonly { readonly [Column in Name]: Cell }[],
): Promise<void> {
  for (let first = 0; first < rows.length; first += ROWS_PER_STATEMENT) {
    const cells: Cell[] = []
    const place = (cell: Cell): string => `$${cells.push(cell)}`
    const values = rows
      .slice(first, first + ROWS_PER_STATEMENT)
      .map(row => `(${columns.map(column => place(row[column])).join(",")})`)
    await sql.unsafe(`insert into ${table} (${columns.join(",")}) values ${values.join(",")}`, cells)
  }
}
