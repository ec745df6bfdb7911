/** An event as its receiver reads it. */
import type { EventFormat, SealedEvent } from "@runseal/core/wire/event-messages"

export type RenderedEvent = {
  /** Media type. */
  readonly type: string
  readonly body: string
}

const JSON_TYPE = "application/json"

/** One event in a format, on one line. @param logOrigin of the deployment */
export function bodyOf(event: SealedEvent, _format: EventFormat, _logOrigin: string): RenderedEvent {
  return { type: JSON_TYPE, body: JSON.stringify(event) }
}

/** What a test of a destination sends: no document is behind it. */
export function testBody(id: string, _format: EventFormat, nowMs: number, logOrigin: string): RenderedEvent {
  const timestamp = new Date(nowMs).toISOString()
  return { type: JSON_TYPE, body: JSON.stringify({ id, type: "test", timestamp, data: { log_origin: logOrigin } }) }
}
