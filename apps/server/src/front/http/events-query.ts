/** Query parameters of `GET /admin/events`. */
import {
  EVENT_FORMATS,
  EVENTS_LIMIT_DEFAULT,
  EVENTS_LIMIT_MAX,
  type EventFormat,
} from "@runseal/core/wire/event-messages"
import * as v from "valibot"
import { integerText, type QuerySchema, readQuery } from "./query.ts"

const opt = v.exactOptional

type EventsQuery = { readonly after?: number; readonly limit?: number; readonly format?: EventFormat }
/** Parameters of `GET /admin/events`. */
export const eventsQuerySchema: QuerySchema<EventsQuery> = v.object({
  after: opt(
    v.pipe(
      integerText(0, Number.MAX_SAFE_INTEGER - 1),
      v.description("Position of the last event that was read; absent: from the first on."),
    ),
  ),
  limit: opt(integerText(1, EVENTS_LIMIT_MAX, EVENTS_LIMIT_DEFAULT)),
  format: opt(
    v.pipe(
      v.picklist(EVENT_FORMATS, `must be one of ${EVENT_FORMATS.join(", ")}`),
      v.metadata({ default: "standard" }),
    ),
  ),
})

/** @throws HttpError 400 */
export const readEvents = (url: string): EventsQuery => readQuery(eventsQuerySchema, url)
