/** Keys, publication, and what is published. */
import { sealedBundleSchema } from "@runseal/core/artifacts/bundle-schema"
import {
  changedKeySchema,
  changeKeyRequestSchema,
  claimedRunsSchema,
  claimRequestSchema,
  keyListSchema,
  mintedKeySchema,
  mintKeyRequestSchema,
  publishedRunSchema,
  revokedKeySchema,
  rotatedKeySchema,
  rotateKeyRequestSchema,
  unpublishedRunSchema,
} from "@runseal/core/wire/key-requests"
import {
  madeShareSchema,
  revokedShareSchema,
  shareRequestSchema,
  sharesPageSchema,
} from "@runseal/core/wire/share-messages"
import { dsseEnvelopeSchema } from "@runseal/log/entries/dsse"
import {
  described,
  opaque,
  type PathParameter,
  type Routes,
  RUN_ID,
  refusal,
  SMALL_BODY_MAX_BYTES,
  shape,
} from "../endpoint.ts"
import { bundleQuerySchema, reportQuerySchema, sharesQuerySchema } from "../queries.ts"
import { SAVED_AS } from "./runs-endpoints.ts"

const ADMIN = { access: "admin" } as const
const POST = { ...ADMIN, method: "post" } as const
const READER = { access: "reader" } as const
const PUBLIC = { method: "get", access: "public" } as const
const KEY = { path_parameters: { id: { ...RUN_ID, description: "Key identifier." } } } as const
const RUN = { path_parameters: { id: RUN_ID } } as const

const TOKEN = {
  schema: { type: "string", pattern: "^[0-9a-f]{32}$" },
  description: "Token of the publication.",
  example: "0".repeat(32),
} as const satisfies PathParameter
const PUBLISHED = { path_parameters: { token: TOKEN } } as const
const SHARED = { path_parameters: { token: { ...TOKEN, description: "Token of the link." } } } as const

export const KEY_ROUTES = {
  mint_key: {
    ...POST,
    path: "/admin/keys",
    once: true,
    body: shape(mintKeyRequestSchema),
    answers: { 201: shape(mintedKeySchema) },
  },
  list_keys: { ...ADMIN, method: "get", path: "/admin/keys", answers: { 200: shape(keyListSchema) } },
  change_key: {
    ...ADMIN,
    ...KEY,
    method: "patch",
    path: "/admin/keys/{id}",
    once: true,
    repeatable: true,
    body: shape(changeKeyRequestSchema),
    nulls: "all",
    answers: { 200: shape(changedKeySchema) },
  },
  rotate_key: {
    ...POST,
    ...KEY,
    path: "/admin/keys/{id}/rotate",
    once: true,
    body: shape(rotateKeyRequestSchema),
    answers: { 200: shape(rotatedKeySchema) },
  },
  revoke_key: {
    ...ADMIN,
    ...KEY,
    method: "delete",
    path: "/admin/keys/{id}",
    once: true,
    repeatable: true,
    answers: { 200: shape(revokedKeySchema) },
  },
  claim_runs: {
    ...POST,
    path: "/admin/runs/claim",
    repeatable: true,
    body: shape(claimRequestSchema),
    answers: { 200: shape(claimedRunsSchema) },
  },
  publish_run: {
    ...POST,
    ...RUN,
    path: "/admin/runs/{id}/publish",
    repeatable: true,
    answers: { 200: shape(publishedRunSchema) },
  },
  unpublish_run: {
    ...POST,
    ...RUN,
    path: "/admin/runs/{id}/unpublish",
    repeatable: true,
    answers: { 200: shape(unpublishedRunSchema) },
  },
  share_run: {
    ...READER,
    ...RUN,
    method: "post",
    path: "/admin/runs/{id}/share",
    once: true,
    body: shape(shareRequestSchema),
    max_bytes: SMALL_BODY_MAX_BYTES,
    answers: { 201: shape(madeShareSchema) },
  },
  shares: {
    ...READER,
    method: "get",
    path: "/admin/shares",
    query: shape(sharesQuerySchema),
    answers: { 200: shape(sharesPageSchema) },
  },
  revoke_share: {
    ...READER,
    method: "delete",
    path: "/admin/shares/{id}",
    path_parameters: { id: { ...RUN_ID, description: "Number of the link." } },
    once: true,
    repeatable: true,
    answers: { 200: shape(revokedShareSchema) },
  },
} as const satisfies Routes

export const SHARED_ROUTES = {
  shared_bundle: {
    ...PUBLIC,
    ...SHARED,
    path: "/shared/{token}/bundle.json",
    query: shape(bundleQuerySchema),
    answers: { 200: opaque(sealedBundleSchema) },
    sealed: true,
  },
  shared_report: {
    ...PUBLIC,
    ...SHARED,
    path: "/shared/{token}/report.pdf",
    query: shape(reportQuerySchema),
    answers: { 200: "application/pdf" },
  },
  shared_run: { ...PUBLIC, ...SHARED, path: "/shared/{token}", answers: { 200: "text/html" } },
} as const satisfies Routes

export const PUBLISHED_ROUTES = {
  public_bundle: {
    ...PUBLIC,
    ...PUBLISHED,
    path: "/public/runs/{token}/bundle.json",
    query: shape(bundleQuerySchema),
    answers: { 200: opaque(sealedBundleSchema) },
    sealed: true,
  },
  public_statement: {
    ...PUBLIC,
    ...PUBLISHED,
    path: "/public/runs/{token}/statement.intoto.json",
    answers: { 200: shape(dsseEnvelopeSchema) },
    sealed: true,
  },
  public_run: { ...PUBLIC, ...PUBLISHED, path: "/public/runs/{token}", answers: { 200: "text/html" } },
  run_bundle: { ...PUBLIC, ...RUN, path: "/runs/{id}/bundle.json", answers: {} },
} as const satisfies Routes

const ETAG = { description: "SHA-256 of the bytes.", schema: { type: "string" }, required: true }
const CACHED = {
  ETag: ETAG,
  "Cache-Control": { description: "An hour at most.", schema: { type: "string" }, required: true },
}
const UNCHANGED = { description: "Unchanged since the ETag of If-None-Match." }
const PAGE = "The page of /verify, which fetches the bundle and verifies it."

export const KEY_ENDPOINTS = /* @__PURE__ */ described("Keys and publication", KEY_ROUTES, () => ({
  mint_key: {
    summary: "Mint a key",
    description: "In open mode the first key is minted without a key; from then on the deployment is locked.",
    body: {
      examples: {
        customer: { summary: "a key that makes runs", value: { name: "ci", tier: "trial" } },
        auditor: {
          summary: "a key that reads the runs of key 2, and shares them",
          value: { name: "audit 2026", scope: "auditor", reads: [2], share: true },
        },
        approver: {
          summary: "a key with which a person approves",
          value: { name: "mia", scope: "approver", person: "mia@example.com", groups: ["treasury"] },
        },
      },
    },
    answers: { 201: "The key. Its secret is shown here and nowhere else." },
  },
  list_keys: { summary: "Every key, without secrets", answers: { 200: "The keys, oldest first." } },
  change_key: {
    summary: "Change a key's name, notes, limits or expiry",
    description: "What is absent stays; null takes a setting away.",
    body: { example: { rate_limit: 600 } },
    answers: { 200: "The key as it is now." },
    refusals: [404],
  },
  rotate_key: {
    summary: "Give a key a new secret",
    description:
      "The key keeps its id, runs, permits and budgets. Without `overlap_seconds` the old secret is refused from the next request on.",
    body: { example: { overlap_seconds: 3600 } },
    answers: { 200: "The new secret, shown here and nowhere else." },
    refusals: [404, 409],
  },
  revoke_key: {
    summary: "Revoke a key",
    answers: { 200: "Revoked: the key's next request is refused." },
    refusals: [404],
  },
  claim_runs: {
    summary: "Give the runs of open mode to a key, once",
    description:
      "From then on the key reads, searches, reports, exports and publishes them. Their records still name the tenant `anonymous`. A retry with the same key is answered like the first call; 409 for another key, and when there are no such runs.",
    body: { example: { key_id: 2 } },
    answers: { 200: "The key reads the runs of open mode." },
    refusals: [404, 409],
  },
  publish_run: {
    summary: "Publish a run that the calling admin key reads",
    answers: { 200: "Where anybody reads the bundle." },
    refusals: [404],
  },
  unpublish_run: {
    summary: "Unpublish any run",
    description: "Copies that were cached may be served for an hour.",
    answers: { 200: "The run is not published." },
    refusals: [404],
  },
  share_run: {
    summary: "Share a run for some days under a link that needs no key",
    description:
      "For admin keys, of every run; and for auditors whose key has `share`, of those that they read. Without `expires_in_seconds` the link works for a day.",
    body: { example: { expires_in_seconds: 86_400 } },
    answers: { 201: "The link, shown here and nowhere else." },
    refusals: [404],
  },
  shares: {
    summary: "What is shared now, the newest link first",
    answers: { 200: "A page of links, without their tokens." },
  },
  revoke_share: {
    summary: "End a link at once",
    description: "For admin keys; an auditor ends those of its own key.",
    answers: { 200: "Nothing is read under it any more." },
    refusals: [404],
  },
}))

export const SHARED_ENDPOINTS = /* @__PURE__ */ described("Shared records", SHARED_ROUTES, () => ({
  shared_bundle: {
    summary: "A shared run's bundle",
    answers: { 200: "The bundle, as the run's own key gets it." },
    refusals: [404, 503],
  },
  shared_report: {
    summary: "A shared run's report as a PDF, signed and with its bundle in it",
    answers: { 200: { description: "The report.", headers: SAVED_AS } },
    refusals: [404, 503],
  },
  shared_run: {
    summary: "A shared run, verified in the visitor's browser",
    answers: {
      200: PAGE,
      404: {
        ...refusal("No run is shared under this token: the envelope, or to a browser the page.", ["not_shared"]),
        or_page: true,
      },
    },
    refusals: [503],
  },
}))

export const PUBLISHED_ENDPOINTS = /* @__PURE__ */ described("Published bundles", PUBLISHED_ROUTES, () => ({
  public_bundle: {
    summary: "A published run's bundle",
    answers: {
      200: { description: "The bundle, byte for byte as it was sealed.", headers: CACHED },
      304: UNCHANGED,
    },
    refusals: [404, 503],
  },
  public_statement: {
    summary: "A published run's statement, in a DSSE envelope",
    description:
      "404 also for a run that ended as stage_error, and for one whose key is revoked from before its log time.",
    answers: {
      200: { description: "The envelope, as the run's own key gets it.", headers: CACHED },
      304: UNCHANGED,
    },
    refusals: [404, 503],
  },
  public_run: {
    summary: "A published run, verified in the visitor's browser",
    answers: {
      200: PAGE,
      304: UNCHANGED,
      404: {
        ...refusal("No run is published under this token: the envelope, or to a browser the page.", ["not_published"]),
        or_page: true,
      },
    },
    refusals: [503],
  },
  run_bundle: {
    summary: "Serves no run",
    description: "Runs are published under a token, never under their number.",
    answers: {},
    refusals: [404],
  },
}))
