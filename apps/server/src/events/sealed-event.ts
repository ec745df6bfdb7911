/** The events of stored documents. What each says is a row of the table of core. docs/events.md. */
import { onlyMembers, parseStrictJson } from "@runseal/canonical"
import { EVENTS } from "@runseal/core/event-forms/sealed-events"
import type { LoggedEvent } from "@runseal/core/event-forms/sent-event"
import { StoreError } from "../store/driver/store-errors.ts"
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
