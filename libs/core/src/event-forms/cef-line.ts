/** An event as a line of the Common Event Format (ArcSight, version 0). */
import { accountOf, EVENTS } from "./sealed-events.ts"
import { type EventAccount, permitOf, type Sender, type SentEvent, type Weight } from "./sent-event.ts"

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

function customOf(event: SentEvent, { asked, hash }: EventAccount): Readonly<Partial<Record<Custom, Value>>> {
  if (!("position" in event)) return {}
  return {
    ...(asked === undefined
      ? {}
      : {
          cs1: asked.route_id,
          cs2: asked.program_id,
          cs3: asked.policy_hash,
          cs4: asked.rule_id,
          cs6: permitOf(asked),
        }),
    cs5: hash,
    ...(asked !== undefined && "run_id" in asked ? { cn1: asked.run_id } : {}),
    cn2: event.position,
    cn3: event.data.tenant_ordinal,
  }
}

/** An event of no act tells its subjects: what an administrator changed, or how many permits ended. */
function namedOf(event: SentEvent, account: EventAccount, logOrigin: string): Readonly<Record<string, Value>> {
  const { who, operation, decision, outcome, reason, resources = [] } = account
  const [first] = resources
  return {
    rt: Date.parse(event.timestamp),
    externalId: event.id,
    deviceExternalId: logOrigin,
    suser: who.role === "service" ? undefined : who.name,
    act: who.role === "administrator" ? operation : decision,
    outcome,
    reason,
    msg: who.role === "administrator" && first !== undefined ? `${first.type} ${first.uid}` : undefined,
    cnt: first?.type === "permit" ? resources.length : undefined,
  }
}

/** One line, without a line break at its end. @param rows of which one has the event's type */
export function cefLine(event: SentEvent, { log_origin, version }: Sender, rows = EVENTS): string {
  const account = accountOf(event, rows)
  const header = ["CEF:0", "Runseal", "Runseal", version, event.type, account.sentence, `${SEVERITIES[account.weight]}`]
  const labels: Readonly<Record<string, string>> = LABELS
  const fields = Object.entries({ ...namedOf(event, account, log_origin), ...customOf(event, account) }).flatMap(
    ([key, value]) => {
      if (value === undefined) return []
      const label = labels[key]
      return [`${key}=${valueText(value)}`, ...(label === undefined ? [] : [`${key}Label=${label}`])]
    },
  )
  return `${header.map(headerText).join("|")}|${fields.join(" ")}`
}
