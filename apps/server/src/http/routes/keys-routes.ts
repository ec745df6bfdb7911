/** Making, listing, changing, rotating and revoking keys. docs/api.md, "Keys". */
import { rfc3339Millis } from "@runseal/core/derivation/v2/tok"
import {
  adminNameSchema,
  asks,
  type ChangedKey,
  type ChangeKeyRequest,
  CUSTOMER_NAME_PREFIX,
  type KeyList,
  type ListedKey,
  type MintedKey,
  type RevokedKey,
  type RotatedKey,
} from "@runseal/core/wire/key-requests"
import type { Context } from "hono"
import * as v from "valibot"
import type { Deps } from "../../deps.ts"
import { badRequest, HttpError } from "../../http-error.ts"
import type { NewAdminEvent } from "../../store/tables/admin-events.ts"
import { type ApiKeyRow, type KeyFacts, listKeys, type Minter } from "../../store/tables/api-keys.ts"
import { changeKey, type KeyChange, revokeKey, type Unchanged } from "../../store/tables/changed-keys.ts"
import { findClaim, type RunClaimRow } from "../../store/tables/run-claims.ts"
import { mintKey, rotateKey } from "../access/api-key.ts"
import { refuseUnlessAdmin, unauthorized } from "../access/authentication.ts"
import { callerOf, readIds, readNames, whoOf } from "../access/caller.ts"
import { onceOf } from "../access/idempotency.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { noSuchKey, readKeyId } from "../path-ids.ts"

/** Who administers. @throws HttpError 403 for the anonymous caller of open mode */
function adminOf(c: Context): NewAdminEvent["who"] {
  refuseUnlessAdmin(c)
  return whoOf(callerOf(c))
}

const minterOf = (c: Context): Minter =>
  callerOf(c).scope === "anonymous" ? { kind: "anonymous" } : { kind: "admin", who: adminOf(c) }

const timestamp = (ms: number): string => new Date(ms).toISOString()

const listedKey = (row: KeyFacts, claim: RunClaimRow | undefined): ListedKey => ({
  id: row.key_id,
  name: row.name,
  scope: row.scope,
  tier: row.tier,
  created_at: timestamp(row.created_at),
  last_used_at: row.last_used_at === 0 ? null : timestamp(row.last_used_at),
  run_count: row.run_count,
  revoked: row.revoked_at !== 0,
  ...(row.created_by === "" ? {} : { created_by: row.created_by }),
  ...(row.revoked_at === 0 ? {} : { revoked_at: timestamp(row.revoked_at) }),
  ...(row.revoked_by === "" ? {} : { revoked_by: row.revoked_by }),
  ...(row.rotated_at === 0 ? {} : { rotated_at: timestamp(row.rotated_at) }),
  ...(row.overlap_until === 0 ? {} : { overlap_until: timestamp(row.overlap_until) }),
  ...(row.notes === "" ? {} : { notes: row.notes }),
  ...(row.expires_at === 0 ? {} : { expires_at: timestamp(row.expires_at) }),
  ...(row.run_token_budget < 0 ? {} : { run_token_budget: row.run_token_budget }),
  ...(row.window_token_budget < 0 ? {} : { window_token_budget: row.window_token_budget }),
  ...(row.rate_limit < 0 ? {} : { rate_limit: row.rate_limit }),
  ...(row.reads === "" ? {} : { reads: [...readIds(row.reads)] }),
  ...(row.share ? { share: true } : {}),
  ...(row.observe ? { observe: true } : {}),
  ...(row.person === "" ? {} : { person: row.person }),
  ...(row.groups === "" ? {} : { groups: [...readNames(row.groups)] }),
  ...(row.persons === "" ? {} : { persons: [...readNames(row.persons)] }),
  ...(claim?.key_id === row.key_id
    ? { claim: { claimed_at: timestamp(claim.claimed_at), claimed_by: claim.claimed_by } }
    : {}),
})

/** @throws HttpError unless the key was changed */
function changedOr<Row>(result: Row | Unchanged): Row {
  if (result === "nobody") throw unauthorized()
  if (result === "absent") throw noSuchKey()
  if (result === "revoked") throw new HttpError("key_revoked", "The key is revoked: make another one.")
  return result
}

/** @throws HttpError 400 for a time that is over, and for one that no calendar has */
function expiryOf(text: string, nowMs: number): number {
  const at = rfc3339Millis(text)
  if (at === undefined) throw badRequest("expires_at: must be an RFC 3339 timestamp.")
  if (at <= nowMs) throw badRequest("expires_at must be in the future; to end a key now, revoke it.")
  return at
}

/** What a request changes of a key. Null is what the key has without a setting of its own. @throws HttpError 400 */
function changeOf(request: ChangeKeyRequest, { scope }: ApiKeyRow, nowMs: number): KeyChange {
  const { name, tier, notes, expires_at, run_token_budget, window_token_budget, rate_limit, reads, share, observe } =
    request
  const { groups, persons } = request
  if (name !== undefined && scope !== "customer" && !v.is(adminNameSchema, name))
    throw badRequest(`name must not begin with ${CUSTOMER_NAME_PREFIX}.`)
  if (reads !== undefined && scope !== "auditor") throw badRequest("reads is only of a key of scope auditor.")
  if (share !== undefined && scope !== "auditor") throw badRequest("share is only of a key of scope auditor.")
  if (observe === true && !asks(scope)) throw badRequest("observe is of no key of scope auditor or approver.")
  if (groups !== undefined && scope !== "approver") throw badRequest("groups is only of a key of scope approver.")
  if (persons !== undefined && !asks(scope)) throw badRequest("persons is of no key of scope auditor or approver.")
  return {
    ...(name === undefined ? {} : { name: scope === "customer" ? CUSTOMER_NAME_PREFIX + name : name }),
    ...(tier === undefined ? {} : { tier }),
    ...(notes === undefined ? {} : { notes: notes ?? "" }),
    ...(expires_at === undefined ? {} : { expires_at: expires_at === null ? 0 : expiryOf(expires_at, nowMs) }),
    ...(run_token_budget === undefined ? {} : { run_token_budget: run_token_budget ?? -1 }),
    ...(window_token_budget === undefined ? {} : { window_token_budget: window_token_budget ?? -1 }),
    ...(rate_limit === undefined ? {} : { rate_limit: rate_limit ?? -1 }),
    ...(reads === undefined ? {} : { reads: reads === null ? "" : JSON.stringify(reads) }),
    ...(share === undefined ? {} : { share: share === true }),
    ...(observe === undefined ? {} : { observe: observe === true }),
    ...(groups === undefined ? {} : { groups: JSON.stringify(groups) }),
    ...(persons === undefined ? {} : { persons: persons === null ? "" : JSON.stringify(persons) }),
  }
}

export function keyRoutes(deps: Deps): Handlers {
  return {
    mint_key: async (c, { body }) => {
      const { request, ignored } = await body()
      if (request.expires_at !== undefined) expiryOf(request.expires_at, deps.nowMs())
      const { keyPrefix } = deps
      const minted = await mintKey(deps.acts, request, minterOf(c), { at: deps.nowMs(), once: onceOf(c), keyPrefix })
      // Since the request was authenticated, the first key was made, or the caller's own was revoked.
      if (minted === undefined) throw unauthorized()
      return c.json({ ...minted, ...ignored } satisfies MintedKey, 201)
    },
    list_keys: async c => {
      await deps.keys.usesNoted()
      // An anonymous caller was admitted because there was no key.
      const keys = callerOf(c).scope === "anonymous" ? [] : await listKeys(deps.db)
      const claim = await findClaim(deps.db)
      return c.json({ ok: true, keys: keys.map(key => listedKey(key, claim)) } satisfies KeyList)
    },
    change_key: async (c, { body }) => {
      const act = { who: adminOf(c), key_id: readKeyId(c.req.param("id")), at: deps.nowMs(), once: onceOf(c) }
      const { request, ignored } = await body()
      changedOr(await changeKey(deps.acts, act, key => changeOf(request, key, act.at)))
      const [key] = await listKeys(deps.db, act.key_id)
      if (key === undefined) throw noSuchKey()
      return c.json({ ok: true, ...listedKey(key, await findClaim(deps.db)), ...ignored } satisfies ChangedKey)
    },
    rotate_key: async (c, { body }) => {
      const act = { who: adminOf(c), key_id: readKeyId(c.req.param("id")), once: onceOf(c) }
      const { request, ignored } = await body()
      const { overlap_seconds = 0 } = request
      const [at, overlapMs] = [deps.nowMs(), overlap_seconds * 1000]
      const rotated = await rotateKey(deps.acts, { ...act, at, overlapMs, keyPrefix: deps.keyPrefix })
      const answer = { ...changedOr(rotated), ...ignored }
      return c.json(answer satisfies RotatedKey)
    },
    revoke_key: async c => {
      const key_id = readKeyId(c.req.param("id"))
      if (callerOf(c).scope !== "admin") throw noSuchKey()
      changedOr(await revokeKey(deps.acts, { who: adminOf(c), key_id, at: deps.nowMs(), once: onceOf(c) }))
      // The key's open permits are due now. They are ended by documents, for which this answer does not wait.
      void deps.permitEnds.sweep()
      return c.json({ ok: true, id: key_id, revoked: true } satisfies RevokedKey)
    },
  }
}
