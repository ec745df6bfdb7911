/** API keys and publications on the wire. docs/api.md, "POST /admin/keys" and "POST /admin/runs/{id}/publish". */
import * as v from "valibot"
import { clockSchema, countSchema, ordinalSchema, type Shape, textSchema } from "../vocabulary/scalars.ts"
import { ignoredSchema } from "./ignored-members.ts"

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
  v.check(name => name.trim() !== "", "must not be empty"),
  v.maxLength(KEY_NAME_MAX_LENGTH, `must have at most ${KEY_NAME_MAX_LENGTH} characters`),
  v.check(
    name => !UNSHOWABLE.test(name.replace(WITHIN_EMOJI, "")),
    "must be one line without control or invisible characters",
  ),
  v.description("One line without control or invisible characters, not blank. Length in UTF-16 units."),
)

/** An admin key must not look like a customer's, also in the records that bear its name. */
export const adminNameSchema: v.GenericSchema<string> = v.pipe(
  keyNameSchema,
  v.check(name => !name.startsWith(CUSTOMER_NAME_PREFIX), `must not begin with ${CUSTOMER_NAME_PREFIX}`),
)

const KEY_SCOPES = ["admin", "customer"] as const
export type KeyScope = (typeof KEY_SCOPES)[number]
const KEY_TIERS = ["trial", "production"] as const
export type KeyTier = (typeof KEY_TIERS)[number]

const scopeSchema = v.picklist(KEY_SCOPES)
const tierSchema = v.picklist(KEY_TIERS, "must be trial or production")
const okSchema = v.literal(true)

/** The body of `POST /admin/keys`. Unknown members are ignored, and the answer names them. */
export const mintKeyRequestSchema = v.pipe(
  v.object({
    name: keyNameSchema,
    /** Absent for a customer key. */
    scope: v.exactOptional(v.literal("admin", "must be admin, or absent for a customer key")),
    /** Must be true with scope `admin`. */
    confirm_admin_scope: v.exactOptional(v.boolean()),
    /** Absent: `trial` for a customer key, `production` for an admin key. */
    tier: v.exactOptional(tierSchema),
  }),
  v.forward(
    v.check(
      ({ scope, confirm_admin_scope }) => scope !== "admin" || confirm_admin_scope === true,
      "must be true for a key of scope admin",
    ),
    ["confirm_admin_scope"],
  ),
  v.forward(
    v.check(
      ({ scope, name }) => scope !== "admin" || v.is(adminNameSchema, name),
      `must not begin with ${CUSTOMER_NAME_PREFIX}`,
    ),
    ["name"],
  ),
  v.metadata({
    if: { properties: { scope: { const: "admin" } }, required: ["scope"] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { confirm_admin_scope: { const: true } }, required: ["confirm_admin_scope"] },
    description: `The name of an admin key must not begin with ${CUSTOMER_NAME_PREFIX}.`,
  }),
)
export type MintKeyRequest = Shape<typeof mintKeyRequestSchema>

export const mintedKeySchema = v.strictObject({
  ok: okSchema,
  id: ordinalSchema,
  /** As stored: a customer key's begins with `customer:`. */
  name: textSchema,
  /** Shown here and nowhere else. */
  secret: v.pipe(v.string(), v.regex(/^rsk_[0-9a-f]{48}$/)),
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

export const revokedKeySchema = v.strictObject({
  ok: okSchema,
  id: ordinalSchema,
  revoked: v.literal(true),
})
/** `DELETE /admin/keys/{id}`. */
export type RevokedKey = Shape<typeof revokedKeySchema>

const NO_KEY_ID = "must be the id of a key"
/** The body of `POST /admin/runs/claim`. Unknown keys are ignored. */
export const claimRequestSchema = v.object({
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
