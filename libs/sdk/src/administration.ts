/** Keys and publications, for whoever holds an admin key. docs/api.md, "POST /admin/keys" and "POST /admin/runs/{id}/publish". */
import {
  type KeyList,
  keyListSchema,
  type MintedKey,
  type MintKeyRequest,
  mintedKeySchema,
  type PublishedRun,
  publishedRunSchema,
  type RevokedKey,
  revokedKeySchema,
  type UnpublishedRun,
  unpublishedRunSchema,
} from "@runseal/core/wire/key-requests"
import { as, jsonText, runPath } from "./calls.ts"
import { type CallOptions, integerWithin } from "./settings.ts"
import type { Send } from "./transport.ts"

export type Administration = {
  /**
   * Makes a key; its secret is in this answer and nowhere else. Never repeated, since each call makes a key: after a
   * NetworkError, TimeoutError or AbortedError one may exist whose secret nobody knows; find it with `listKeys`, revoke it.
   */
  readonly createKey: (request: MintKeyRequest, options?: CallOptions) => Promise<MintedKey>
  /** Every key, oldest first, without secrets. */
  readonly listKeys: (options?: CallOptions) => Promise<KeyList>
  /** Ends a key: its next call is refused. */
  readonly revokeKey: (keyId: number, options?: CallOptions) => Promise<RevokedKey>
  /** Puts the bundle of a run that this key made under an address that anybody may read. */
  readonly publish: (runId: number, options?: CallOptions) => Promise<PublishedRun>
  /** Takes it back; copies that were cached may be served for an hour. */
  readonly unpublish: (runId: number, options?: CallOptions) => Promise<UnpublishedRun>
}

const keyPath = (keyId: number): string =>
  `/admin/keys/${integerWithin("The key id", keyId, 1, Number.MAX_SAFE_INTEGER)}`

export const administration = (send: Send): Administration => ({
  createKey: async (request, options) =>
    await send({ path: "/admin/keys", body: jsonText(request), repeatable: false }, as(mintedKeySchema, 201), options),
  listKeys: options => send({ path: "/admin/keys", repeatable: true }, as(keyListSchema), options),
  revokeKey: async (keyId, options) =>
    await send({ method: "DELETE", path: keyPath(keyId), repeatable: true }, as(revokedKeySchema), options),
  publish: async (runId, options) => {
    const path = `/admin${runPath(runId)}/publish`
    return await send({ method: "POST", path, repeatable: true }, as(publishedRunSchema), options)
  },
  unpublish: async (runId, options) => {
    const path = `/admin${runPath(runId)}/unpublish`
    return await send({ method: "POST", path, repeatable: true }, as(unpublishedRunSchema), options)
  },
})
