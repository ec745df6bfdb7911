/** Shapes of the answers about keys and publications. docs/api.md, "POST /admin/keys" and "POST /admin/runs/{id}/publish". */
import { countSchema, ordinalSchema } from "@runseal/core/vocabulary/scalars"
import {
  KEY_SCOPES,
  KEY_TIERS,
  type KeyList,
  type ListedKey,
  type MintedKey,
  type PublishedRun,
  publicationTokenSchema,
  type RevokedKey,
  type UnpublishedRun,
} from "@runseal/core/wire/keys"
import * as v from "valibot"

const text = v.string()
const ok = { ok: v.literal(true) }
const tier = v.picklist(KEY_TIERS)

export const mintedKeySchema: v.GenericSchema<unknown, MintedKey> = v.object({
  ...ok,
  id: ordinalSchema,
  name: text,
  secret: text,
  tier,
  hint: text,
})

const listedKeySchema: v.GenericSchema<unknown, ListedKey> = v.object({
  id: ordinalSchema,
  name: text,
  scope: v.picklist(KEY_SCOPES),
  tier,
  created_at: text,
  last_used_at: v.nullable(text),
  run_count: countSchema,
  revoked: v.boolean(),
})
export const keyListSchema: v.GenericSchema<unknown, KeyList> = v.object({ ...ok, keys: v.array(listedKeySchema) })

export const revokedKeySchema: v.GenericSchema<unknown, RevokedKey> = v.object({
  ...ok,
  id: ordinalSchema,
  revoked: v.literal(true),
})

export const publishedRunSchema: v.GenericSchema<unknown, PublishedRun> = v.object({
  ...ok,
  run_id: ordinalSchema,
  token: publicationTokenSchema,
  url: text,
})

export const unpublishedRunSchema: v.GenericSchema<unknown, UnpublishedRun> = v.object({
  ...ok,
  run_id: ordinalSchema,
  published: v.literal(false),
})
