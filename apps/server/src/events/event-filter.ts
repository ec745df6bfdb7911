/** Which events a destination gets. */
import type { SealedEvent } from "@runseal/core/wire/event-messages"
import type { DestinationRow } from "../store/tables/destinations-table.ts"

type Filters = Pick<DestinationRow, "types" | "outcomes" | "key_ids">

/** The values of a filter as its column holds them. */
export const filterText = (values: readonly (string | number)[]): string => values.join(" ")
/** The values of a filter's column; none: everything passes. */
export const filterValues = (column: string): readonly string[] => (column === "" ? [] : column.split(" "))

/** Whether an event passes the filters of a destination. An event without an outcome passes a filter by outcome. */
export function passes({ types, outcomes, key_ids }: Filters, { type, data }: SealedEvent): boolean {
  const isIn = (column: string, value: string): boolean => column === "" || filterValues(column).includes(value)
  return isIn(types, type) && isIn(key_ids, `${data.key_id}`) && (!("outcome" in data) || isIn(outcomes, data.outcome))
}
