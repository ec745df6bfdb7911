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
import { BODY_MAX_BYTES, SMALL_BODY_MAX_BYTES } from "../body-bounds.ts"
import { bytes, type Endpoint, json, type PathParameter, RUN_ID, refusal } from "../endpoint.ts"
import { bundleQuerySchema, reportQuerySchema, sharesQuerySchema } from "../queries.ts"
import { SAVED_AS } from "./runs-endpoints.ts"

const ADMIN = { tag: "Keys and publication", access: "admin" } as const
const READER = { ...ADMIN, access: "reader" } as const
const PUBLIC = { method: "get", tag: "Published bundles", access: "public" } as const

const ETAG = { description: "SHA-256 of the bytes.", schema: { type: "string" }, required: true }
const TOKEN: PathParameter = {
  schema: { type: "string", pattern: "^[0-9a-f]{32}$" },
  description: "Token of the publication.",
  example: "0".repeat(32),
}
const CACHED = { description: "An hour at most.", schema: { type: "string" }, required: true }

const SHARED = { method: "get", tag: "Shared records", access: "public" } as const
const SHARE_TOKEN: PathParameter = { ...TOKEN, description: "Token of the link." }

const KEY_ID: PathParameter = { ...RUN_ID, description: "Key identifier." }

export const KEY_ENDPOINTS: readonly Endpoint[] = [
  {
    ...ADMIN,
    method: "post",
    path: "/admin/keys",
    id: "mint_key",
    once: true,
    summary: "Mint a key",
    description: "In open mode the first key is minted without a key; from then on the deployment is locked.",
    body: { schema: mintKeyRequestSchema, max_bytes: BODY_MAX_BYTES, example: { name: "ci", tier: "trial" } },
    answers: { 201: json(mintedKeySchema, "The key. Its secret is shown here and nowhere else.") },
  },
  {
    ...ADMIN,
    method: "get",
    path: "/admin/keys",
    id: "list_keys",
    summary: "Every key, without secrets",
    answers: { 200: json(keyListSchema, "The keys, oldest first.") },
  },
  {
    ...ADMIN,
    method: "patch",
    path: "/admin/keys/{id}",
    id: "change_key",
    once: true,
    summary: "Change a key's name, notes, limits or expiry",
    description: "What is absent stays; null takes a setting away.",
    path_parameters: { id: KEY_ID },
    body: { schema: changeKeyRequestSchema, max_bytes: BODY_MAX_BYTES, example: { rate_limit: 600 } },
    answers: { 200: json(changedKeySchema, "The key as it is now.") },
    refusals: [404],
  },
  {
    ...ADMIN,
    method: "post",
    path: "/admin/keys/{id}/rotate",
    id: "rotate_key",
    once: true,
    summary: "Give a key a new secret",
    description:
      "The key keeps its id, runs, permits and budgets. Without `overlap_seconds` the old secret is refused from the next request on.",
    path_parameters: { id: KEY_ID },
    body: { schema: rotateKeyRequestSchema, max_bytes: BODY_MAX_BYTES, example: { overlap_seconds: 3600 } },
    answers: { 200: json(rotatedKeySchema, "The new secret, shown here and nowhere else.") },
    refusals: [404, 409],
  },
  {
    ...ADMIN,
    method: "delete",
    path: "/admin/keys/{id}",
    id: "revoke_key",
    once: true,
    summary: "Revoke a key",
    path_parameters: { id: KEY_ID },
    answers: { 200: json(revokedKeySchema, "Revoked: the key's next request is refused.") },
    refusals: [404],
  },
  {
    ...ADMIN,
    method: "post",
    path: "/admin/runs/claim",
    id: "claim_runs",
    summary: "Give the runs of open mode to a key, once",
    description:
      "From then on the key reads, searches, reports, exports and publishes them. Their records still name the tenant `anonymous`. A retry with the same key is answered like the first call; 409 for another key, and when there are no such runs.",
    body: { schema: claimRequestSchema, max_bytes: BODY_MAX_BYTES, example: { key_id: 2 } },
    answers: { 200: json(claimedRunsSchema, "The key reads the runs of open mode.") },
    refusals: [404, 409],
  },
  {
    ...ADMIN,
    method: "post",
    path: "/admin/runs/{id}/publish",
    id: "publish_run",
    summary: "Publish a run that the calling admin key reads",
    path_parameters: { id: RUN_ID },
    answers: { 200: json(publishedRunSchema, "Where anybody reads the bundle.") },
    refusals: [404],
  },
  {
    ...ADMIN,
    method: "post",
    path: "/admin/runs/{id}/unpublish",
    id: "unpublish_run",
    summary: "Unpublish any run",
    description: "Copies that were cached may be served for an hour.",
    path_parameters: { id: RUN_ID },
    answers: { 200: json(unpublishedRunSchema, "The run is not published.") },
    refusals: [404],
  },
  {
    ...READER,
    method: "post",
    path: "/admin/runs/{id}/share",
    id: "share_run",
    once: true,
    summary: "Share a run for some days under a link that needs no key",
    description:
      "For admin keys, of every run; and for auditors whose key has `share`, of those that they read. Without `expires_in_seconds` the link works for a day.",
    path_parameters: { id: RUN_ID },
    body: { schema: shareRequestSchema, max_bytes: SMALL_BODY_MAX_BYTES, example: { expires_in_seconds: 86_400 } },
    answers: { 201: json(madeShareSchema, "The link, shown here and nowhere else.") },
    refusals: [404],
  },
  {
    ...READER,
    method: "get",
    path: "/admin/shares",
    id: "shares",
    summary: "What is shared now, the newest link first",
    query: sharesQuerySchema,
    answers: { 200: json(sharesPageSchema, "A page of links, without their tokens.") },
  },
  {
    ...READER,
    method: "delete",
    path: "/admin/shares/{id}",
    id: "revoke_share",
    once: true,
    summary: "End a link at once",
    description: "For admin keys; an auditor ends those of its own key.",
    path_parameters: { id: { ...RUN_ID, description: "Number of the link." } },
    answers: { 200: json(revokedShareSchema, "Nothing is read under it any more.") },
    refusals: [404],
  },
  {
    ...SHARED,
    path: "/shared/{token}/bundle.json",
    id: "shared_bundle",
    summary: "A shared run's bundle",
    path_parameters: { token: SHARE_TOKEN },
    query: bundleQuerySchema,
    answers: { 200: json(sealedBundleSchema, "The bundle, as the run's own key gets it.") },
    refusals: [404, 503],
  },
  {
    ...SHARED,
    path: "/shared/{token}/report.pdf",
    id: "shared_report",
    summary: "A shared run's report as a PDF, signed and with its bundle in it",
    path_parameters: { token: SHARE_TOKEN },
    query: reportQuerySchema,
    answers: { 200: bytes("application/pdf", "The report.", SAVED_AS) },
    refusals: [404, 503],
  },
  {
    ...SHARED,
    path: "/shared/{token}",
    id: "shared_run",
    summary: "A shared run, verified in the visitor's browser",
    path_parameters: { token: SHARE_TOKEN },
    answers: {
      200: bytes("text/html", "The page of /verify, which fetches the bundle and verifies it."),
      404: {
        ...refusal("No run is shared under this token: the envelope, or to a browser the page.", ["not_shared"]),
        or_page: true,
      },
    },
    refusals: [503],
  },
  {
    ...PUBLIC,
    path: "/public/runs/{token}/bundle.json",
    id: "public_bundle",
    summary: "A published run's bundle",
    query: bundleQuerySchema,
    path_parameters: { token: TOKEN },
    answers: {
      200: json(sealedBundleSchema, "The bundle, byte for byte as it was sealed.", {
        ETag: ETAG,
        "Cache-Control": CACHED,
      }),
      304: { description: "Unchanged since the ETag of If-None-Match." },
    },
    refusals: [404, 503],
  },
  {
    ...PUBLIC,
    path: "/public/runs/{token}/statement.intoto.json",
    id: "public_statement",
    summary: "A published run's statement, in a DSSE envelope",
    description:
      "404 also for a run that ended as stage_error, and for one whose key is revoked from before its log time.",
    path_parameters: { token: TOKEN },
    answers: {
      200: json(dsseEnvelopeSchema, "The envelope, as the run's own key gets it.", {
        ETag: ETAG,
        "Cache-Control": CACHED,
      }),
      304: { description: "Unchanged since the ETag of If-None-Match." },
    },
    refusals: [404, 503],
  },
  {
    ...PUBLIC,
    path: "/public/runs/{token}",
    id: "public_run",
    summary: "A published run, verified in the visitor's browser",
    path_parameters: { token: TOKEN },
    answers: {
      200: bytes("text/html", "The page of /verify, which fetches the bundle and verifies it."),
      304: { description: "Unchanged since the ETag of If-None-Match." },
      404: {
        ...refusal("No run is published under this token: the envelope, or to a browser the page.", ["not_published"]),
        or_page: true,
      },
    },
    refusals: [503],
  },
  {
    ...PUBLIC,
    path: "/runs/{id}/bundle.json",
    id: "run_bundle",
    summary: "Serves no run",
    description: "Runs are published under a token, never under their number.",
    path_parameters: { id: RUN_ID },
    answers: {},
    refusals: [404],
  },
]
