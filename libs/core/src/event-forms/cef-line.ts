/** An event as a line of the Common Event Format (ArcSight, version 0). */
import {
  decisionOf,
  documentHash,
  type Sender,
  type SentEvent,
  sentenceOf,
  type Weight,
  weightOf,
} from "./sent-event.ts"

const SEVERITIES: Readonly<Record<Weight, number>> = { informational: 1, low: 3, medium: 6, high: 8 }

/** What a custom field holds; its label says so in each line. */
const LABELS = {
  cs1: "route_id",
  cs2: "program_id",
  cs3: "policy_hash",
  cs4: "rule_id",
  cs5: "document_hash",
  cs6: "permit_id",
  cn1: "run_id",
  cn2: "position",
  cn3: "tenant_ordinal",
} as const
type Custom = keyof typeof LABELS
type Value = string | number | undefined

/** Control characters and line separators. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/gu
/** Of a header field: `\` and `|` are escaped, and it has no line break. */
const headerText = (text: string): string => text.replaceAll(CONTROL, " ").replaceAll(/[\\|]/g, "\\$&")
/** Of a value: `\` and `=` are escaped, and line breaks are written `\n` and `\r`. */
const valueText = (value: string | number): string =>
  `${value}`.replaceAll(/[\\=]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll(CONTROL, " ")

function customOf(event: SentEvent): Readonly<Partial<Record<Custom, Value>>> {
  if (event.type === "test") return {}
  const { data } = event
  return {
    ...("route_id" in data
      ? { cs1: data.route_id, cs2: data.program_id, cs3: data.policy_hash, cs4: data.rule_id, cs6: data.permit_id }
      : {}),
    cs5: documentHash(event),
    ...("run_id" in data ? { cn1: data.run_id } : {}),
    cn2: event.position,
    cn3: data.tenant_ordinal,
  }
}

function namedOf(event: SentEvent, logOrigin: string): Readonly<Record<string, Value>> {
  const shared = { rt: Date.parse(event.timestamp), externalId: event.id, deviceExternalId: logOrigin }
  switch (event.type) {
    case "test":
      return shared
    case "admin.event": {
      const { actor, action, subject } = event.data
      return { ...shared, suser: actor, act: action, msg: `${subject.kind} ${subject.id}` }
    }
    case "permit.ended":
      return { ...shared, suser: event.data.tenant_id, reason: event.data.reason, cnt: event.data.permits.length }
    case "permit.opened":
    case "permit.closed":
    case "run.sealed": {
      const outcome = "outcome" in event.data ? event.data.outcome : undefined
      const { tenant_id, reason_code } = event.data
      return { ...shared, suser: tenant_id, act: decisionOf(event), outcome, reason: reason_code }
    }
  }
}

/** One line, without a line break at its end. */
export function cefLine(event: SentEvent, { log_origin, version }: Sender): string {
  const header = [
    "CEF:0",
    "Runseal",
    "Runseal",
    version,
    event.type,
    sentenceOf(event),
    `${SEVERITIES[weightOf(event)]}`,
  ]
  const labels: Readonly<Record<string, string>> = LABELS
  const fields = Object.entries({ ...namedOf(event, log_origin), ...customOf(event) }).flatMap(([key, value]) => {
    if (value === undefined) return []
    const label = labels[key]
    return [`${key}=${valueText(value)}`, ...(label === undefined ? [] : [`${key}Label=${label}`])]
  })
  return `${header.map(headerText).join("|")}|${fields.join(" ")}`
}
