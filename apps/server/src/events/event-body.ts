/** An event as its receiver reads it: in the format that the destination has, on one line. */
import { cefLine } from "@runseal/core/event-forms/cef-line"
import { ocsfEvent } from "@runseal/core/event-forms/ocsf-event"
import { accountOf } from "@runseal/core/event-forms/sealed-events"
import type { Sender, SentEvent } from "@runseal/core/event-forms/sent-event"
import { asciiJson, syslogMessage } from "@runseal/core/event-forms/syslog-message"
import type { EventFormat } from "@runseal/core/wire/event-messages"

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
