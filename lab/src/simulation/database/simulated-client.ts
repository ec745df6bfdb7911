import type { StoreClient } from "@runseal/server/store/driver/connection-pool"
import type { Answer } from "./execute-statement.ts"
import type { Cell } from "./simulated-rows.ts"

/** Rows as the driver gives them, with the statement's metadata as non-enumerable members. */
export const resultOf = ({ rows, count, command }: Answer): object =>
  Object.defineProperties([...rows.map(copied)], { count: { value: count }, command: { value: command } })

/** Bytes as the driver gives them, copied, so that a caller cannot change the database. */
const copied = (row: object): object =>
  Object.fromEntries(
    Object.entries(row).map(([name, cell]) => [name, cell instanceof Uint8Array ? Buffer.from(cell) : cell]),
  )

/** The part of the driver's client that the store uses. */
export function clientOf(query: (text: string, parameters: readonly Cell[]) => Promise<object>): StoreClient {
  const tagged = (text: TemplateStringsArray, ...values: readonly Cell[]): Promise<object> =>
    query(
      text.reduce((sent, piece, at) => `${sent}$${at}${piece}`),
      values,
    )
  const unsafe = (text: string, parameters: readonly Cell[] = []): object => {
    const answer = query(text, parameters)
    // The query builder expects rows as lists of cells.
    return Object.assign(answer, { values: async () => Object.values(await answer).map(row => Object.values(row)) })
  }
  const options = { parsers: {}, serializers: {} }
  const client: object = Object.assign(tagged, { unsafe, options, end: async () => undefined })
  return client as StoreClient
}
