/** The events of all callers, for a program that asks for them. docs/events.md; docs/api.md, "Events". */
import type { LoggedEvent } from "@runseal/core/event-forms/sent-event"
import { EVENTS_LIMIT_DEFAULT, type EventFormat } from "@runseal/core/wire/event-messages"
import type { Deps } from "../../deps.ts"
import { bodyOf, eventsOf } from "../../events/sealed-event.ts"
import { SERVICE_VERSION } from "../../options/config.ts"
import { readHead } from "../../store/tables/log-store.ts"
import { readStream } from "../../store/tables/stream-reads.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { refuseNamed } from "./run-views.ts"

/** One event a line. */
const MEDIA_TYPE_OF_LINES: Readonly<Record<EventFormat, string>> = {
  standard: "application/x-ndjson",
  ocsf: "application/x-ndjson",
  cef: "text/plain; charset=utf-8",
}

/** For administrators, and for auditors who read all keys. */
export function eventRoutes({ db, logOrigin }: Deps): Handlers {
  return {
    events: async (c, { query }) => {
      refuseNamed(c)
      const { after, limit = EVENTS_LIMIT_DEFAULT, format = "standard" } = query()
      const { size } = await readHead(db)
      const events: LoggedEvent[] = []
      let position = after === undefined ? 0 : after + 1
      while (position < size && events.length < limit) {
        const { documents, next } = await readStream(db, position, size)
        events.push(...eventsOf(documents))
        position = next
      }
      const sender = { log_origin: logOrigin, version: SERVICE_VERSION }
      const lines = events.slice(0, limit).map(event => `${bodyOf(event, format, sender)}\n`)
      return c.body(lines.join(""), 200, { "Content-Type": MEDIA_TYPE_OF_LINES[format] })
    },
  }
}
