/**
 * An action of an administrator: who did what, and what it changed. The events are a chain of their own, under the tenant `deployment`, so
 * that a missing one shows; each is anchored and verifies by itself. docs/formats.md section 7.10.
 */
import { canonicalize } from "@runseal/canonical"
import { transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import * as v from "valibot"
import {
  ACTOR_NAME_MAX_LENGTH,
  actorSchema,
  clockSchema,
  DEPLOYMENT_TENANT,
  ISSUER_MAX_LENGTH,
  lineSchema,
  type Shape,
  SUBJECT_MAX_LENGTH,
  sha256Schema,
} from "../vocabulary/scalars.ts"
import { chainPlace } from "./anchor.ts"
import { jsonObjectSchema } from "./json-object-schema.ts"

export const ADMIN_EVENT_KIND = "vfa.admin_event.v1"
/** The same where a person acted: a session of the identity provider, without a key. */
export const PERSON_EVENT_KIND = "vfa.admin_event.v2"
export const ADMIN_EVENT_LEAF_VERSION = "vfa.admin_event_leaf.v1"

export const adminEventLeafSchema = v.strictObject({
  leaf_version: v.literal(ADMIN_EVENT_LEAF_VERSION),
  event_hash: sha256Schema,
  ...chainPlace,
})
/** Anchors an action of an administrator in the deployment's own chain. */
export type AdminEventLeaf = Shape<typeof adminEventLeafSchema>

/** Longest `before` or `after`, in UTF-16 units of its RFC 8785 text: an event holds settings, and long texts only by their hashes. */
export const EVENT_STATE_MAX_LENGTH = 8192
/** Longest id of what an event is about, in UTF-16 units. */
const SUBJECT_ID_MAX_LENGTH = 256

/** What this release writes as `action`. */
export const ADMIN_ACTIONS = [
  "key.create",
  "key.rotate",
  "key.change",
  "key.revoke",
  "runs.claim",
  "run.publish",
  "run.unpublish",
  "run.share",
  "run.unshare",
  "policy.propose",
  "policy.load",
  "webhook.create",
  "webhook.change",
  "webhook.rotate",
  "webhook.resume",
  "webhook.delete",
  "signing_keys.rotate",
  "signing_key.revoke",
  "heads.forget",
  "clock.confirm",
  "search_index.clear",
  "approval.approve",
  "approval.reject",
  "approval.withdraw",
  "approval.delete_comments",
  "passkey.enrol",
  "passkey.confirm",
  "passkey.revoke",
] as const
export type AdminAction = (typeof ADMIN_ACTIONS)[number]

/** What this release writes as `subject.kind`. */
export const SUBJECT_KINDS = [
  "key",
  "run",
  "policy",
  "destination",
  "signing_key",
  "log",
  "heads_folder",
  "search_index",
  "approval",
  "passkey",
] as const
export type SubjectKind = (typeof SUBJECT_KINDS)[number]

/** Two words around a dot. Later releases have further actions, which this one verifies too. */
const ACTION = /^[a-z_]{1,32}\.[a-z_]{1,32}$/
const SUBJECT_KIND = /^[a-z_]{1,32}$/

const stateSchema = v.pipe(
  jsonObjectSchema,
  v.check(state => canonicalize(state).length <= EVENT_STATE_MAX_LENGTH, "is too large"),
  v.metadata({ description: `Its RFC 8785 text has at most ${EVENT_STATE_MAX_LENGTH} UTF-16 units.` }),
)

const who = v.strictObject({
  actor: actorSchema,
  /** Name of the key when it acted, or of the person as the identity provider gave it; absent for others. */
  name: v.exactOptional(lineSchema(ACTOR_NAME_MAX_LENGTH)),
  /** Of a person, this and the next: the identity provider, and whom it names so. */
  issuer: v.exactOptional(lineSchema(ISSUER_MAX_LENGTH)),
  subject: v.exactOptional(lineSchema(SUBJECT_MAX_LENGTH)),
})

/** What an event says. No secret and no hash of one is in it. */
export const eventFacts = {
  /** When the action was committed, by the clock of the process that did it. */
  event_clock: clockSchema,
  who,
  action: v.pipe(v.string(), v.regex(ACTION)),
  /** What it was done to. */
  subject: v.strictObject({
    kind: v.pipe(v.string(), v.regex(SUBJECT_KIND)),
    id: lineSchema(SUBJECT_ID_MAX_LENGTH),
  }),
  /** The members that the action changed, as they were; absent for what did not exist. */
  before: v.exactOptional(stateSchema),
  /** The same as they are after it. */
  after: v.exactOptional(stateSchema),
}
export const eventFactsSchema = v.strictObject(eventFacts)
export type EventFacts = Shape<typeof eventFactsSchema>

export const adminEventSchema = v.strictObject({
  kind: v.picklist([ADMIN_EVENT_KIND, PERSON_EVENT_KIND]),
  tenant_id: v.literal(DEPLOYMENT_TENANT),
  /** Opens the leaf's tenant_commitment. */
  tenant_salt: sha256Schema,
  ...eventFacts,
  /** When it was sealed. An event of a command is sealed by the next server that runs, which may be later. */
  seal_clock: clockSchema,
  event_hash: sha256Schema,
  leaf: adminEventLeafSchema,
  entry: transparencyLogEntrySchema,
})
export type AdminEvent = Shape<typeof adminEventSchema>

/** An event before its own hash. */
export type AdminEventBody = Omit<AdminEvent, "event_hash" | "leaf" | "entry">
