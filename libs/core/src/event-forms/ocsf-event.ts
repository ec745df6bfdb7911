/**
 * An event as OCSF 1.8.0 API Activity (class 6003) with the profiles `ai_operation` and `security_control`. All that the event says is in `unmapped`
 * too, under the names of docs/events.md. https://schema.ocsf.io/1.8.0/classes/api_activity
 */
import type { JsonObject } from "@runseal/canonical"
import { accountOf, EVENTS } from "./sealed-events.ts"
import { type Decision, type EventAccount, permitOf, type Sender, type SentEvent, type Weight } from "./sent-event.ts"

const OCSF_VERSION = "1.8.0"
const CLASS = { category_uid: 6, category_name: "Application Activity", class_uid: 6003, class_name: "API Activity" }

/** `activity_name` of another activity is its name in the source. */
const OTHER = 99
const ACTIVITIES = { create: { id: 1, name: "Create" }, update: { id: 3, name: "Update" } } as const

const SEVERITIES: Readonly<Record<Weight, JsonObject>> = {
  informational: { severity_id: 1, severity: "Informational" },
  low: { severity_id: 2, severity: "Low" },
  medium: { severity_id: 3, severity: "Medium" },
  high: { severity_id: 4, severity: "High" },
}
const DECISIONS: Readonly<Record<Decision, JsonObject>> = {
  allowed: { action_id: 1, action: "Allowed", disposition_id: 1, disposition: "Allowed" },
  denied: { action_id: 2, action: "Denied", disposition_id: 2, disposition: "Blocked" },
  observed: { action_id: 3, action: "Observed", disposition_id: 17, disposition: "Logged" },
}
const SUCCESS = { status_id: 1, status: "Success" }
const FAILURE = { status_id: 2, status: "Failure" }
/** `type_id` of a user, and `ai_role_id` of a message. */
const USERS = { tenant: { type_id: 4, type: "Service" }, administrator: { type_id: 2, type: "Admin" } } as const
const AGENT = { ai_role_id: 4, ai_role: "Agent" }

/** Who asked, for what, and what came of it: of each type of event what it knows. */
function subjectOf({ who, operation, resources, asked, outcome, reason }: EventAccount): JsonObject {
  return {
    actor:
      who.role === "service"
        ? { app_name: who.name }
        : {
            user: { uid: who.name, ...USERS[who.role] },
            ...(asked === undefined ? {} : { app_uid: asked.program_id }),
          },
    // The class asks for the caller's place in the network, which no sealed document holds: the caller's name is given instead.
    src_endpoint: { name: who.name },
    ...(asked === undefined ? {} : { message_context: messageOf(asked) }),
    ...(resources === undefined ? {} : { resources }),
    ...(asked?.policy_hash === undefined ? {} : { policy: { uid: asked.policy_hash } }),
    ...(outcome === undefined ? {} : { status_code: outcome }),
    ...(reason === undefined ? {} : { status_detail: reason }),
    ...(asked !== undefined && "duration_us" in asked ? { duration: Math.floor(asked.duration_us / 1000) } : {}),
    api: {
      operation,
      service: { name: "Runseal" },
      ...(asked === undefined ? {} : { request: { uid: requestOf(asked) } }),
    },
  }
}

type Asked = NonNullable<EventAccount["asked"]>

/** What the service calls the request: its run, its permit, or the request for an approval that it became. */
function requestOf(asked: Asked): string {
  if ("run_id" in asked) return `${asked.run_id}`
  return "permit_id" in asked ? asked.permit_id : asked.approval_id
}

function messageOf(asked: Asked): JsonObject {
  const permit_id = permitOf(asked)
  return { ...AGENT, application: { uid: asked.program_id }, ...(permit_id === undefined ? {} : { uid: permit_id }) }
}

/** @param rows of which one has the event's type */
export function ocsfEvent(event: SentEvent, { log_origin, version }: Sender, rows = EVENTS): JsonObject {
  const account = accountOf(event, rows)
  const { activity, decision, operation } = account
  const { id, name } = activity === "other" ? { id: OTHER, name: operation } : ACTIVITIES[activity]
  return {
    ...CLASS,
    activity_id: id,
    activity_name: name,
    type_uid: CLASS.class_uid * 100 + id,
    type_name: `${CLASS.class_name}: ${id === OTHER ? "Other" : name}`,
    time: Date.parse(event.timestamp),
    ...SEVERITIES[account.weight],
    ...(account.failed ? FAILURE : SUCCESS),
    ...(decision === undefined ? {} : DECISIONS[decision]),
    message: account.sentence,
    metadata: {
      version: OCSF_VERSION,
      profiles: ["ai_operation", "security_control"],
      product: { name: "Runseal", vendor_name: "Runseal", version },
      uid: event.id,
      event_code: event.type,
      log_name: log_origin,
      original_time: event.timestamp,
      ...("position" in event ? { sequence: event.position, tenant_uid: event.data.tenant_id } : {}),
    },
    ...subjectOf(account),
    unmapped: { ...event.data, ...("position" in event ? { position: event.position } : {}) },
  }
}
