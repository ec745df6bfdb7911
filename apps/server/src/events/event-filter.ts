/** Which events a destination gets. */
import type { LoggedEvent } from "@runseal/core/event-forms/sent-event"
import type { DestinationRow } from "../store/tables/destinations-table.ts"

type Filters = Pick<DestinationRow, "types" | "outcomes" | "key_ids">

/** The values of a filter as its column holds them. */
export const filterText = (values: readonly (string | number)[]): string => values.join(" ")
/** The values of a filter's column; none: everything passes. */
export const filterValues = (column: string): readonly string[] => (column === "" ? [] : column.split(" "))

/** Whether an event passes the filters of a destination. An event without an outcome passes a filter by outcome. */
export function passes({ types, outcomes, key_ids }: Filters, { type, data }: LoggedEvent): boolean {
  const isIn = (column: string, value: string): boolean => column === "" || filterValues(column).includes(value)
  return (
    isIn(types, type) && isIn(key_ids, `${data.key_id}`) && (data.outcome === undefined || isIn(outcomes, data.outcome))
  )
}
