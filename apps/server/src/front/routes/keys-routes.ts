/** Making, listing and revoking keys. docs/api.md, "POST /admin/keys", "GET /admin/keys" and "DELETE /admin/keys/{id}". */
import { ignoredOf } from "@runseal/core/wire/ignored-members"
import {
  type KeyList,
  type ListedKey,
  type MintedKey,
  mintKeyRequestSchema,
  type RevokedKey,
} from "@runseal/core/wire/key-requests"
import type { Context } from "hono"
import { Hono } from "hono"
import type { Deps } from "../../deps.ts"
import { type KeyFacts, listKeys, type Minter, revokeKey } from "../../store/tables/api-keys.ts"
import { findClaim, type RunClaimRow } from "../../store/tables/run-claims.ts"
import { mintKey } from "../access/api-key.ts"
import { unauthorized } from "../access/authentication.ts"
import { callerOf } from "../access/caller.ts"
import { readJsonObject } from "../http/json-body.ts"
import { noSuchKey, readKeyId } from "../http/path-ids.ts"
import { readMintBody } from "../http/request-bodies.ts"

function minterOf(c: Context): Minter {
  const { scope, api_key_id } = callerOf(c)
  return scope === "anonymous" ? { kind: "anonymous" } : { kind: "admin", key_id: api_key_id }
}

const timestamp = (ms: number): string => new Date(ms).toISOString()

const listedKey = (
  { key_id, name, scope, tier, created_at, last_used_at, revoked_at, run_count }: KeyFacts,
  claim: RunClaimRow | undefined,
): ListedKey => ({
  id: key_id,
  name,
  scope,
  tier,
  created_at: timestamp(created_at),
  last_used_at: last_used_at === 0 ? null : timestamp(last_used_at),
  run_count,
  revoked: revoked_at !== 0,
  ...(claim?.key_id === key_id
    ? { claim: { claimed_at: timestamp(claim.claimed_at), claimed_by: claim.claimed_by } }
    : {}),
})

export function keyRoutes(deps: Deps): Hono {
  const app = new Hono()
  app.post("/admin/keys", async c => {
    const body = await readJsonObject(c)
    const minted = await mintKey(deps.db, readMintBody(body), minterOf(c), deps.nowMs())
    // Since the request was authenticated, the first key was made, or the caller's own was revoked.
    if (minted === undefined) throw unauthorized()
    return c.json({ ...minted, ...ignoredOf(body, mintKeyRequestSchema) } satisfies MintedKey, 201)
  })
  app.get("/admin/keys", async c => {
    await deps.keys.usesNoted()
    // An anonymous caller was admitted because there was no key.
    const keys = callerOf(c).scope === "anonymous" ? [] : await listKeys(deps.db)
    const claim = await findClaim(deps.db)
    return c.json({ ok: true, keys: keys.map(key => listedKey(key, claim)) } satisfies KeyList)
  })
  app.delete("/admin/keys/:id", async c => {
    const id = readKeyId(c.req.param("id"))
    const known = callerOf(c).scope === "admin" && (await revokeKey(deps.db, id, deps.nowMs()))
    if (!known) throw noSuchKey()
    // The key's open permits are due now. They are ended by documents, for which this answer does not wait.
    void deps.permitEnds.sweep()
    return c.json({ ok: true, id, revoked: true } satisfies RevokedKey)
  })
  return app
}
