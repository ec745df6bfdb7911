/** Keys, policies and publications. Every call needs an admin key. docs/api.md, "POST /admin/keys", "Policies" and "POST /admin/runs/{id}/publish". */
import {
  type ChangedKey,
  type ChangeKeyRequest,
  type ClaimedRuns,
  changedKeySchema,
  claimedRunsSchema,
  type KeyList,
  keyListSchema,
  type MintedKey,
  type MintKeyRequest,
  mintedKeySchema,
  type PublishedRun,
  publishedRunSchema,
  type RevokedKey,
  type RotatedKey,
  type RotateKeyRequest,
  revokedKeySchema,
  rotatedKeySchema,
  type UnpublishedRun,
  unpublishedRunSchema,
} from "@runseal/core/wire/key-requests"
import {
  type DryRunAnswer,
  type DryRunRequest,
  dryRunAnswerSchema,
  type FoundPolicy,
  foundPolicySchema,
  type LoadedPolicy,
  type LoadPolicyRequest,
  loadedPolicySchema,
  type PoliciesPage,
  policiesPageSchema,
} from "@runseal/core/wire/policy-requests"
import { as, keyedCall, query, runPath } from "./calls.ts"
import type { Reply } from "./exchange.ts"
import { jsonText } from "./plain-json.ts"
import { type ActionOptions, type CallOptions, integerWithin } from "./settings.ts"
import type { Send } from "./transport.ts"

export type Administration = {
  /**
   * Makes a key. Only this answer holds its secret. Retried only under an idempotency key, since each call makes a key: after a
   * NetworkError, TimeoutError or AbortedError a key may exist whose secret is lost. Find it with `listKeys` and revoke it.
   */
  readonly createKey: (request: MintKeyRequest, options?: ActionOptions) => Promise<MintedKey>
  /** Every key, oldest first, without secrets. */
  readonly listKeys: (options?: CallOptions) => Promise<KeyList>
  /** Changes a key's name, notes, limits or expiry: what is absent stays, null takes a setting away. */
  readonly changeKey: (keyId: number, change: ChangeKeyRequest, options?: ActionOptions) => Promise<ChangedKey>
  /**
   * Gives a key a new secret, which only this answer holds; the key keeps its runs and budgets. Retried only under an idempotency key: after a
   * NetworkError, TimeoutError or AbortedError the old secret may be dead. Then rotate again, under a new key.
   */
  readonly rotateKey: (keyId: number, request?: RotateKeyRequest, options?: ActionOptions) => Promise<RotatedKey>
  /** Ends a key: its next call is refused. */
  readonly revokeKey: (keyId: number, options?: ActionOptions) => Promise<RevokedKey>
  /** Gives the runs of open mode to a key, once: it reads, searches, reports and exports them from then on. A retry changes nothing. */
  readonly claimRuns: (keyId: number, options?: CallOptions) => Promise<ClaimedRuns>
  /** Puts a policy in force, in every process within two seconds. A retry finds it in force. */
  readonly loadPolicy: (policy: LoadPolicyRequest["policy"], options?: CallOptions) => Promise<LoadedPolicy>
  /** What a policy would change on the newest runs; nothing changes. */
  readonly tryPolicy: (
    policy: DryRunRequest["policy"],
    options?: CallOptions & { readonly last?: number | undefined },
  ) => Promise<DryRunAnswer>
  /** Policies that were in force, newest first; `before` is `next` of the page before. */
  readonly policies: (
    options?: CallOptions & { readonly limit?: number | undefined; readonly before?: number | undefined },
  ) => Promise<PoliciesPage>
  /** One of them. Saved as a file it is what `verifier --decided-by` takes. */
  readonly policyVersion: (version: number, options?: CallOptions) => Promise<FoundPolicy>
  /** Publishes the bundle of a run that the calling key reads, at an address that needs no key. */
  readonly publish: (runId: number, options?: CallOptions) => Promise<PublishedRun>
  /** Ends a publication. Caches may serve copies for an hour. */
  readonly unpublish: (runId: number, options?: CallOptions) => Promise<UnpublishedRun>
}

const keyPath = (keyId: number): string =>
  `/admin/keys/${integerWithin("The key id", keyId, 1, Number.MAX_SAFE_INTEGER)}`

/** 201 for a new version, 200 for the policy that is in force already. */
const LOADED = (reply: Reply): LoadedPolicy => as(loadedPolicySchema, reply.status === 201 ? 201 : 200)(reply)

export const administration = (send: Send): Administration => ({
  createKey: async (request, options) => {
    const call = { path: "/admin/keys", body: jsonText(request), repeatable: false }
    return await send(keyedCall(call, options), as(mintedKeySchema, 201), options)
  },
  listKeys: options => send({ path: "/admin/keys", repeatable: true }, as(keyListSchema), options),
  changeKey: async (keyId, change, options) => {
    const call = { method: "PATCH", path: keyPath(keyId), body: jsonText(change), repeatable: true } as const
    return await send(keyedCall(call, options), as(changedKeySchema), options)
  },
  rotateKey: async (keyId, request = {}, options) => {
    const call = { path: `${keyPath(keyId)}/rotate`, body: jsonText(request), repeatable: false }
    return await send(keyedCall(call, options), as(rotatedKeySchema), options)
  },
  revokeKey: async (keyId, options) => {
    const call = { method: "DELETE", path: keyPath(keyId), repeatable: true } as const
    return await send(keyedCall(call, options), as(revokedKeySchema), options)
  },
  claimRuns: async (keyId, options) => {
    const key_id = integerWithin("The key id", keyId, 1, Number.MAX_SAFE_INTEGER)
    const body = jsonText({ key_id })
    return await send({ path: "/admin/runs/claim", body, repeatable: true }, as(claimedRunsSchema), options)
  },
  loadPolicy: async (policy, options) => {
    const body = jsonText({ policy })
    return await send({ path: "/admin/policies", body, repeatable: true }, LOADED, options)
  },
  tryPolicy: async (policy, { last, ...options } = {}) => {
    const body = jsonText({ policy, last })
    return await send({ path: "/admin/policies/dry-run", body, repeatable: true }, as(dryRunAnswerSchema), options)
  },
  policies: async ({ limit, before, ...options } = {}) =>
    await send(
      { path: `/admin/policies${query({ limit, before })}`, repeatable: true },
      as(policiesPageSchema),
      options,
    ),
  policyVersion: async (version, options) => {
    const path = `/admin/policies/${integerWithin("The version", version, 1, Number.MAX_SAFE_INTEGER)}`
    return await send({ path, repeatable: true }, as(foundPolicySchema), options)
  },
  publish: async (runId, options) => {
    const path = `/admin${runPath(runId)}/publish`
    return await send({ method: "POST", path, repeatable: true }, as(publishedRunSchema), options)
  },
  unpublish: async (runId, options) => {
    const path = `/admin${runPath(runId)}/unpublish`
    return await send({ method: "POST", path, repeatable: true }, as(unpublishedRunSchema), options)
  },
})
