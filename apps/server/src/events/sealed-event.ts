/**
 * What receivers get of stored documents: their events, which of them a destination gets, and in which form. What each event says is a row of the
 * table of core. docs/events.md.
 */
import { onlyMembers, parseStrictJson } from "@runseal/canonical"
import { cefLine } from "@runseal/core/event-forms/cef-line"
import { ocsfEvent } from "@runseal/core/event-forms/ocsf-event"
import { accountOf, EVENTS } from "@runseal/core/event-forms/sealed-events"
import type { LoggedEvent, Sender, SentEvent } from "@runseal/core/event-forms/sent-event"
import { asciiJson, syslogMessage } from "@runseal/core/event-forms/syslog-message"
import type { EventFormat } from "@runseal/core/wire/event-messages"
import { StoreError } from "../store/driver/store-errors.ts"
import type { DestinationRow } from "../store/tables/destinations-table.ts"
import type { StreamDocument } from "../store/tables/stream-reads.ts"

/**
 * The events of documents, in their order; none for a kind without a row.
 * @throws StoreError "corrupt" for a text that this service has not sealed
 */
export const eventsOf = (documents: readonly StreamDocument[], rows = EVENTS): readonly LoggedEvent[] =>
  documents.flatMap(document => {
    const row = rows.find(row => row.document === document.kind)
    if (row === undefined) return []
    // What a caller declares is up to a mebibyte, and takes hundreds of milliseconds to read as values. An event has nothing of it.
    const text = row.members === undefined ? document.text : onlyMembers(document.text, row.members)
    const event = row.eventOf(parseStrictJson(text), document)
    if (event === undefined) throw new StoreError("corrupt")
    return [event]
  })

// An event as its receiver reads it: in the format that the destination has, on one line.

/** Media type of an event of a format. */
export const MEDIA_TYPES: Readonly<Record<EventFormat, string>> = {
  standard: "application/json",
  ocsf: "application/json",
  cef: "text/plain; charset=utf-8",
}

/** One event in a format, on one line. */
export function bodyOf(event: SentEvent, format: EventFormat, sender: Sender): string {
  switch (format) {
    case "standard":
      return JSON.stringify(event)
    case "ocsf":
      return JSON.stringify(ocsfEvent(event, sender))
    case "cef":
      return cefLine(event, sender)
  }
}

/** The same as a syslog message. It has no line break, so that a program of lines that is connected to by mistake gets no whole line. */
export function syslogOf(event: SentEvent, format: EventFormat, sender: Sender): string {
  const body = bodyOf(event, format, sender)
  const text = format === "cef" ? body : asciiJson(body)
  const { timestamp, type } = event
  return syslogMessage({ weight: accountOf(event).weight, timestamp, origin: sender.log_origin, type, text })
}

// Which events a destination gets.

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
