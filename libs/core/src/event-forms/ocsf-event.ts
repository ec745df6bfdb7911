/**
 * An event as OCSF 1.8.0 API Activity (class 6003) with the profiles `ai_operation` and `security_control`. All that the event says is in `unmapped`
 * too, under the names of docs/events.md. https://schema.ocsf.io/1.8.0/classes/api_activity
 */
import type { JsonObject } from "@runseal/canonical"
import {
  type Decision,
  decisionOf,
  type Sender,
  type SentEvent,
  sentenceOf,
  type Weight,
  weightOf,
} from "./sent-event.ts"

const OCSF_VERSION = "1.8.0"
const CLASS = { category_uid: 6, category_name: "Application Activity", class_uid: 6003, class_name: "API Activity" }

type Activity = { readonly id: number; readonly name: string; readonly operation: string }
const CREATE = { id: 1, name: "Create" }
const UPDATE = { id: 3, name: "Update" }
/** `activity_name` of another activity is its name in the source. */
const OTHER = 99

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
const SERVICE_USER = { type_id: 4, type: "Service" }
const ADMIN_USER = { type_id: 2, type: "Admin" }
const AGENT = { ai_role_id: 4, ai_role: "Agent" }

function activityOf(event: SentEvent): Activity {
  switch (event.type) {
    case "run.sealed":
      return { ...CREATE, operation: "execute" }
    case "permit.opened":
      return { ...CREATE, operation: "permit.open" }
    case "permit.closed":
      return { ...UPDATE, operation: "permit.close" }
    case "permit.ended":
      return { ...UPDATE, operation: "permit.end" }
    case "admin.event":
      return { id: OTHER, name: event.data.action, operation: event.data.action }
    case "test":
      return { id: OTHER, name: "test", operation: "test" }
  }
}

/** Who asked, for what, and what came of it: of each type of event what it knows. */
function subjectOf(event: SentEvent): JsonObject {
  switch (event.type) {
    case "run.sealed":
    case "permit.closed":
    case "permit.opened": {
      const { data } = event
      const { tenant_id, program_id, route_id, policy_hash } = data
      const uid = "run_id" in data ? `${data.run_id}` : data.permit_id
      const outcome = "outcome" in data ? { status_code: data.outcome } : {}
      const message_context = { ...AGENT, application: { uid: program_id } }
      return {
        ...calledBy(tenant_id, { user: { uid: tenant_id, ...SERVICE_USER }, app_uid: program_id }),
        ...(data.permit_id === undefined
          ? { message_context }
          : { message_context: { ...message_context, uid: data.permit_id } }),
        resources: [{ type: "route", uid: route_id }],
        ...(policy_hash === undefined ? {} : { policy: { uid: policy_hash } }),
        ...outcome,
        ...(data.reason_code === undefined ? {} : { status_detail: data.reason_code }),
        ...("duration_us" in data ? { duration: Math.floor(data.duration_us / 1000) } : {}),
        ...apiOf(event, { request: { uid } }),
      }
    }
    case "permit.ended":
      return {
        ...calledBy(event.data.tenant_id, { user: { uid: event.data.tenant_id, ...SERVICE_USER } }),
        resources: event.data.permits.map(({ permit_id }) => ({ type: "permit", uid: permit_id })),
        status_detail: event.data.reason,
        ...apiOf(event),
      }
    case "admin.event": {
      const { actor, subject } = event.data
      return {
        ...calledBy(actor, { user: { uid: actor, ...ADMIN_USER } }),
        resources: [{ type: subject.kind, uid: subject.id }],
        ...apiOf(event),
      }
    }
    case "test":
      return { ...calledBy("runseal", { app_name: "runseal" }), ...apiOf(event) }
  }
}

/** The class asks for the caller's place in the network, which no sealed document holds: the caller's name is given instead. */
const calledBy = (name: string, actor: JsonObject): JsonObject => ({ actor, src_endpoint: { name } })
const apiOf = (event: SentEvent, more: JsonObject = {}): JsonObject => ({
  api: { operation: activityOf(event).operation, service: { name: "Runseal" }, ...more },
})

function statusOf(event: SentEvent): JsonObject {
  const failed = "outcome" in event.data && (event.data.outcome !== "ok" || event.data.act_outcome === "failed")
  return failed || event.type === "permit.ended" ? FAILURE : SUCCESS
}

export function ocsfEvent(event: SentEvent, { log_origin, version }: Sender): JsonObject {
  const { id, name } = activityOf(event)
  const decision = decisionOf(event)
  return {
    ...CLASS,
    activity_id: id,
    activity_name: name,
    type_uid: CLASS.class_uid * 100 + id,
    type_name: `${CLASS.class_name}: ${id === OTHER ? "Other" : name}`,
    time: Date.parse(event.timestamp),
    ...SEVERITIES[weightOf(event)],
    ...statusOf(event),
    ...(decision === undefined ? {} : DECISIONS[decision]),
    message: sentenceOf(event),
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
    ...subjectOf(event),
    unmapped: { ...event.data, ...("position" in event ? { position: event.position } : {}) },
  }
}
