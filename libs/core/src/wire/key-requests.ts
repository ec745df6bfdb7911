/** API keys and publications on the wire. docs/api.md, "POST /admin/keys" and "POST /admin/runs/{id}/publish". */
import * as v from "valibot"
import { approverGroupSchema } from "../vocabulary/decision-codes.ts"
import {
  actorSchema,
  clockSchema,
  countSchema,
  lineSchema,
  ordinalSchema,
  type Shape,
  SUBJECT_MAX_LENGTH,
  textSchema,
} from "../vocabulary/scalars.ts"
import { ignoredSchema } from "./ignored-members.ts"

/** The header that a key is sent in. */
export const KEY_HEADER = "X-Service-Key"

/** Longest name of a key, in UTF-16 units. */
const KEY_NAME_MAX_LENGTH = 128
/** What the stored name of a customer key begins with. */
export const CUSTOMER_NAME_PREFIX = "customer:"

/**
 * Control characters, line breaks, lone surrogates, and invisible characters: they reverse the direction of the text around them, or
 * make two names look alike.
 */
const UNSHOWABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Cf}\p{Default_Ignorable_Code_Point}]/u
/** Variation selector and joiner within an emoji, where they are part of what is seen. */
const WITHIN_EMOJI = /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier})\ufe0f?\u200d?/gu

/** The name of a key: one line that can be shown in a list. */
const keyNameSchema: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.minLength(1, "must not be empty"),
  v.check(name => name.trim() !== "", "must not be empty"),
  v.maxLength(KEY_NAME_MAX_LENGTH, `must have at most ${KEY_NAME_MAX_LENGTH} characters`),
  v.check(
    name => !UNSHOWABLE.test(name.replace(WITHIN_EMOJI, "")),
    "must be one line without control or invisible characters",
  ),
  v.metadata({
    pattern: "\\S",
    description: "One line without control or invisible characters, not blank. Length in UTF-16 units.",
  }),
)

/** An admin key must not look like a customer's, also in the records that bear its name. */
export const adminNameSchema: v.GenericSchema<string> = v.pipe(
  keyNameSchema,
  v.check(name => !name.startsWith(CUSTOMER_NAME_PREFIX), `must not begin with ${CUSTOMER_NAME_PREFIX}`),
)

/**
 * `auditor`: reads, of all callers or of named keys, and does nothing. `approver`: of a person, who sees the requests for an approval of its groups
 * and decides on them, and nothing else.
 */
export const KEY_SCOPES = ["admin", "customer", "auditor", "approver"] as const
export type KeyScope = (typeof KEY_SCOPES)[number]
export const KEY_TIERS = ["trial", "production"] as const
export type KeyTier = (typeof KEY_TIERS)[number]

export const scopeSchema = v.picklist(KEY_SCOPES)
export const tierSchema = v.picklist(KEY_TIERS, "must be trial or production")
const okSchema = v.literal(true)

/** Longest notes on a key, in UTF-16 units. */
const KEY_NOTES_MAX_LENGTH = 2000
/** Most keys that one auditor reads by name. */
export const AUDITED_KEYS_MAX = 100
/** Most groups of an approver's key, and most persons that an asking key names. */
export const KEY_PERSONS_MAX = 16
/** Longest list of them, in UTF-16 units of its JSON text: an admin event holds it. */
const KEY_PERSONS_MAX_LENGTH = 4096
/** Longest time for which a replaced secret still works, in seconds: a week. */
export const OVERLAP_SECONDS_MAX = 604_800
/** Most requests a minute that a key may be given. */
const KEY_RATE_LIMIT_MAX = 1_000_000

const notesSchema = v.pipe(
  v.string(),
  v.maxLength(KEY_NOTES_MAX_LENGTH, `must have at most ${KEY_NOTES_MAX_LENGTH} characters`),
  v.check(notes => !notes.includes("\u0000") && notes.isWellFormed(), "must not hold U+0000 or half a character"),
  v.description("Length in UTF-16 units; U+0000 is refused."),
)
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/
const expiresAtSchema = v.pipe(
  v.string(),
  v.check(text => TIMESTAMP.test(text) && !Number.isNaN(Date.parse(text)), "must be an RFC 3339 timestamp"),
  v.metadata({ format: "date-time" }),
)
const rateLimitSchema = v.pipe(ordinalSchema, v.maxValue(KEY_RATE_LIMIT_MAX, `must be at most ${KEY_RATE_LIMIT_MAX}`))
/** The keys whose runs an auditor reads. */
export const readsSchema = v.pipe(
  v.array(ordinalSchema),
  v.minLength(1, "must name a key; without it the auditor reads those of all keys"),
  v.maxLength(AUDITED_KEYS_MAX, `must name at most ${AUDITED_KEYS_MAX} keys`),
)

const personSchema = lineSchema(SUBJECT_MAX_LENGTH)
const namesSchema = (one: v.GenericSchema<string>) =>
  v.pipe(
    v.array(one),
    v.minLength(1, "must name one"),
    v.maxLength(KEY_PERSONS_MAX, `must name at most ${KEY_PERSONS_MAX}`),
    v.check(
      names => JSON.stringify(names).length <= KEY_PERSONS_MAX_LENGTH,
      `must have at most ${KEY_PERSONS_MAX_LENGTH} characters as JSON`,
    ),
    v.description(`At most ${KEY_PERSONS_MAX_LENGTH} UTF-16 units as JSON.`),
  )

/** What a key has besides its name, scope and tier. Absent: none, or what the deployment gives every key. */
const settings = {
  /** For operators; in no record. */
  notes: notesSchema,
  /** From then on the key is refused as if it were revoked. */
  expires_at: expiresAtSchema,
  /** Tokens of one run, instead of --run-token-budget. */
  run_token_budget: countSchema,
  /** Tokens of a window, instead of --window-token-budget. */
  window_token_budget: countSchema,
  /** Requests a minute, instead of --rate-limit. */
  rate_limit: rateLimitSchema,
  /** Ids of the keys whose runs an auditor reads; absent: of all. */
  reads: readsSchema,
  /** Whether an auditor shares what it reads. */
  share: v.boolean(),
  /** Whether it may ask for runs and permits that are only observed. */
  observe: v.boolean(),
  /** Of an approver: its groups, by the operator's word. A rule names groups, and counts the persons that have one of them. */
  groups: namesSchema(approverGroupSchema),
  /** Of a key that asks: subjects of the persons who may not approve what it asks for, such as those who operate the agent. */
  persons: namesSchema(personSchema),
}

const orNull = <const S extends v.GenericSchema>(schema: S) => v.exactOptional(v.nullable(schema))

const OF_APPROVERS = "is needed for a key of scope approver, and is of no other"
/** Whether a key of this scope has runs and permits of its own. */
export const asks = (scope: KeyScope | undefined): boolean => scope !== "auditor" && scope !== "approver"

/** The body of `POST /admin/keys`. Unknown members are ignored, and the answer names them. */
export const mintKeyRequestSchema = v.pipe(
  v.object({
    name: keyNameSchema,
    /** Absent for a customer key. */
    scope: v.exactOptional(
      v.picklist(["admin", "auditor", "approver"], "must be admin, auditor or approver, or absent for a customer key"),
    ),
    /** Must be true with scope `admin`. */
    confirm_admin_scope: v.exactOptional(v.boolean()),
    /** Absent: `trial` for a customer key, `production` for an admin key. */
    tier: v.exactOptional(tierSchema),
    notes: v.exactOptional(settings.notes),
    expires_at: v.exactOptional(settings.expires_at),
    run_token_budget: v.exactOptional(settings.run_token_budget),
    window_token_budget: v.exactOptional(settings.window_token_budget),
    rate_limit: v.exactOptional(settings.rate_limit),
    reads: v.exactOptional(settings.reads),
    share: v.exactOptional(settings.share),
    observe: v.exactOptional(settings.observe),
    /** Of an approver: the subject of the person whose key it is, by the operator's word. The same person counts once, also signed in. */
    person: v.exactOptional(personSchema),
    groups: v.exactOptional(settings.groups),
    persons: v.exactOptional(settings.persons),
  }),
  v.forward(
    v.check(({ scope, share }) => scope === "auditor" || share === undefined, "is only of a key of scope auditor"),
    ["share"],
  ),
  v.forward(
    v.check(({ scope, observe }) => asks(scope) || observe !== true, "is of no key of scope auditor or approver"),
    ["observe"],
  ),
  v.forward(
    v.check(({ scope, person }) => (scope === "approver") === (person !== undefined), OF_APPROVERS),
    ["person"],
  ),
  v.forward(
    v.check(({ scope, groups }) => (scope === "approver") === (groups !== undefined), OF_APPROVERS),
    ["groups"],
  ),
  v.forward(
    v.check(({ scope, persons }) => asks(scope) || persons === undefined, "is of no key of scope auditor or approver"),
    ["persons"],
  ),
  v.forward(
    v.check(({ scope, reads }) => scope === "auditor" || reads === undefined, "is only of a key of scope auditor"),
    ["reads"],
  ),
  v.forward(
    v.check(
      ({ scope, confirm_admin_scope }) => scope !== "admin" || confirm_admin_scope === true,
      "must be true for a key of scope admin",
    ),
    ["confirm_admin_scope"],
  ),
  v.forward(
    v.check(
      ({ scope, name }) => scope === undefined || v.is(adminNameSchema, name),
      `must not begin with ${CUSTOMER_NAME_PREFIX}`,
    ),
    ["name"],
  ),
  v.metadata({
    if: { properties: { scope: { const: "admin" } }, required: ["scope"] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { confirm_admin_scope: { const: true } }, required: ["confirm_admin_scope"] },
    description: `The name of a key with a scope must not begin with ${CUSTOMER_NAME_PREFIX}. An approver has person and groups, and no other key has.`,
  }),
)
export type MintKeyRequest = Shape<typeof mintKeyRequestSchema>

/** What an operator may have the secrets of one deployment begin with, after `rsk_`: proxies route by it. */
export const KEY_PREFIX_PATTERN: RegExp = /^[a-z0-9]{1,16}$/
/** Every secret: 24 random bytes in hex, with or without the prefix of the deployment that made it. */
export const KEY_SECRET_PATTERN: RegExp = /^rsk_(?:[a-z0-9]{1,16}_)?[0-9a-f]{48}$/
const secretSchema = v.pipe(v.string(), v.regex(KEY_SECRET_PATTERN))

export const mintedKeySchema = v.strictObject({
  ok: okSchema,
  id: ordinalSchema,
  /** As stored: a customer key's begins with `customer:`. */
  name: textSchema,
  /** Shown here and nowhere else. */
  secret: secretSchema,
  tier: tierSchema,
  /** How to store the secret; of the first key also that the service is locked from now on, and how to get an admin key. */
  hint: textSchema,
  ignored: ignoredSchema,
})
/** Status 201 of `POST /admin/keys`. */
export type MintedKey = Shape<typeof mintedKeySchema>

export const listedKeySchema = v.strictObject({
  id: ordinalSchema,
  name: textSchema,
  scope: scopeSchema,
  tier: tierSchema,
  created_at: clockSchema,
  /** Null for a key that was never used; written at most once a minute. */
  last_used_at: v.nullable(clockSchema),
  run_count: countSchema,
  revoked: v.boolean(),
  /** Who made it, `api-key-<id>`, `operator-command` or `open-mode`; absent for a key of an earlier release. */
  created_by: v.exactOptional(actorSchema),
  revoked_at: v.exactOptional(clockSchema),
  revoked_by: v.exactOptional(actorSchema),
  /** When it last got a new secret, and until when the one before it works or worked. */
  rotated_at: v.exactOptional(clockSchema),
  overlap_until: v.exactOptional(clockSchema),
  notes: v.exactOptional(textSchema),
  expires_at: v.exactOptional(clockSchema),
  run_token_budget: v.exactOptional(countSchema),
  window_token_budget: v.exactOptional(countSchema),
  rate_limit: v.exactOptional(ordinalSchema),
  reads: v.exactOptional(v.array(ordinalSchema)),
  share: v.exactOptional(v.literal(true)),
  /** Absent: it may not ask for what is only observed, where the deployment goes by keys. */
  observe: v.exactOptional(v.literal(true)),
  /** Of an approver: whose key it is, and the groups of that person. */
  person: v.exactOptional(textSchema),
  groups: v.exactOptional(v.array(textSchema)),
  /** Subjects of the persons who may not approve what it asks for. */
  persons: v.exactOptional(v.array(textSchema)),
  /** Of the key that reads the runs of open mode: since when, and which admin key gave them. */
  claim: v.exactOptional(v.strictObject({ claimed_at: clockSchema, claimed_by: ordinalSchema })),
})
export type ListedKey = Shape<typeof listedKeySchema>

export const keyListSchema = v.strictObject({
  ok: okSchema,
  keys: v.array(listedKeySchema),
})
/** `GET /admin/keys`: every key, oldest first. */
export type KeyList = Shape<typeof keyListSchema>

/** The body of `PATCH /admin/keys/{id}`: what is absent stays, null takes it away. Unknown members are ignored, and the answer names them. */
export const changeKeyRequestSchema = v.object({
  /** The whole stored name but for `customer:` of a customer key. */
  name: v.exactOptional(keyNameSchema),
  tier: v.exactOptional(tierSchema),
  notes: orNull(settings.notes),
  expires_at: orNull(settings.expires_at),
  run_token_budget: orNull(settings.run_token_budget),
  window_token_budget: orNull(settings.window_token_budget),
  rate_limit: orNull(settings.rate_limit),
  reads: orNull(settings.reads),
  share: orNull(settings.share),
  observe: orNull(settings.observe),
  /** Of an approver, which has at least one. */
  groups: v.exactOptional(settings.groups),
  persons: orNull(settings.persons),
})
export type ChangeKeyRequest = Shape<typeof changeKeyRequestSchema>

export const changedKeySchema = v.strictObject({ ok: okSchema, ...listedKeySchema.entries, ignored: ignoredSchema })
/** `PATCH /admin/keys/{id}`: the key as it is now. */
export type ChangedKey = Shape<typeof changedKeySchema>

/** The body of `POST /admin/keys/{id}/rotate`. */
export const rotateKeyRequestSchema = v.object({
  /** For how long the old secret still works; 0 without it: it is refused from the next request on. */
  overlap_seconds: v.exactOptional(
    v.pipe(countSchema, v.maxValue(OVERLAP_SECONDS_MAX, `must be at most ${OVERLAP_SECONDS_MAX}`)),
  ),
})
export type RotateKeyRequest = Shape<typeof rotateKeyRequestSchema>

export const rotatedKeySchema = v.strictObject({
  ok: okSchema,
  id: ordinalSchema,
  name: textSchema,
  /** The new one, shown here and nowhere else. */
  secret: secretSchema,
  /** Until when the old secret works; absent where it is refused from now on. */
  overlap_until: v.exactOptional(clockSchema),
  hint: textSchema,
  ignored: ignoredSchema,
})
/** `POST /admin/keys/{id}/rotate`: the same key under a new secret. */
export type RotatedKey = Shape<typeof rotatedKeySchema>

export const revokedKeySchema = v.strictObject({
  ok: okSchema,
  id: ordinalSchema,
  revoked: v.literal(true),
})
/** `DELETE /admin/keys/{id}`. */
export type RevokedKey = Shape<typeof revokedKeySchema>

const NO_KEY_ID = "must be the id of a key"
/** The body of `POST /admin/runs/claim`. */
export const claimRequestSchema = v.strictObject({
  /** The key that reads the runs of open mode from then on. */
  key_id: v.pipe(v.number(NO_KEY_ID), v.safeInteger(NO_KEY_ID), v.minValue(1, NO_KEY_ID)),
})
export type ClaimRequest = Shape<typeof claimRequestSchema>

export const claimedRunsSchema = v.strictObject({
  ok: okSchema,
  key_id: ordinalSchema,
  claimed_at: clockSchema,
  /** Id of the admin key that gave them. */
  claimed_by: ordinalSchema,
  /** Number of runs of open mode. */
  runs: ordinalSchema,
})
/** `POST /admin/runs/claim`. */
export type ClaimedRuns = Shape<typeof claimedRunsSchema>

/** A publication's token: 32 lowercase hex digits from a cryptographic random source. */
export const publicationTokenSchema: v.GenericSchema<string> = v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/))

export const publishedRunSchema = v.strictObject({
  ok: okSchema,
  run_id: ordinalSchema,
  token: publicationTokenSchema,
  /** Where anybody reads the bundle. */
  url: textSchema,
})
/** `POST /admin/runs/{id}/publish`. */
export type PublishedRun = Shape<typeof publishedRunSchema>

export const unpublishedRunSchema = v.strictObject({
  ok: okSchema,
  run_id: ordinalSchema,
  published: v.literal(false),
})
/** `POST /admin/runs/{id}/unpublish`. */
export type UnpublishedRun = Shape<typeof unpublishedRunSchema>
