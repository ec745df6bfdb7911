/** Syslog messages (RFC 5424), and their form in a stream (RFC 6587 §3.4.1, RFC 5425 §4.3). */
import { utf8Encode } from "@runseal/canonical"
import type { Weight } from "./sent-event.ts"

/** Log audit. RFC 5424 §6.2.1. */
const FACILITY = 13
const SEVERITIES: Readonly<Record<Weight, number>> = { informational: 6, low: 5, medium: 4, high: 3 }
const MAX_HOSTNAME_LENGTH = 255
const NIL = "-"

export type SyslogFacts = {
  readonly weight: Weight
  /** RFC 3339, at most microseconds. */
  readonly timestamp: string
  /** Given as the name of the sender, with `-` for characters that such a name may not have. */
  readonly origin: string
  /** Type of the message: at most 32 printable characters of ASCII. */
  readonly type: string
  /** One line. */
  readonly text: string
}

/**
 * A message has no structured data: names of one's own in it need a number of an enterprise. Its text says no encoding (MSG-ANY, RFC 5424 §6.4):
 * receivers do not find a CEF line behind a byte order mark.
 */
export function syslogMessage({ weight, timestamp, origin, type, text }: SyslogFacts): string {
  const hostname = origin.replaceAll(/[^!-~]/gu, "-").slice(0, MAX_HOSTNAME_LENGTH) || NIL
  const priority = FACILITY * 8 + SEVERITIES[weight]
  return `<${priority}>1 ${timestamp} ${hostname} runseal ${NIL} ${type} ${NIL} ${text}`
}

/** A message as a stream carries it: the number of its bytes in front of it. */
export const octetCounted = (message: string): string => `${utf8Encode(message).length} ${message}`

/** JSON in ASCII: what the text means stays the same. */
export const asciiJson = (json: string): string =>
  json.replaceAll(/[^\0-\x7F]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
