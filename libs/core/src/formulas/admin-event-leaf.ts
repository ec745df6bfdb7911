/** Preimages of admin events. docs/formats.md section 7.10. */
import { digest } from "@runseal/canonical"
import type { AdminEvent, AdminEventBody } from "../artifacts/admin-event.ts"
import type { AdminEventLeaf, Anchor } from "../artifacts/anchor.ts"
import { DEPLOYMENT_TENANT } from "../vocabulary/scalars.ts"
import { ADMIN_EVENT_KIND, ADMIN_EVENT_LEAF_VERSION } from "../vocabulary/versions.ts"
import type { ChainPlace } from "./leaves.ts"

/** An event before its own hash. */
export const adminEventBody = (facts: Omit<AdminEventBody, "kind" | "tenant_id">): AdminEventBody => ({
  kind: ADMIN_EVENT_KIND,
  tenant_id: DEPLOYMENT_TENANT,
  ...facts,
})

/** What `event_hash` of an event must be. */
export function eventHash(event: AdminEventBody & Partial<AdminEvent>): string {
  const { event_hash: _hash, leaf: _leaf, entry: _entry, ...rest } = event
  return digest(rest)
}

/** The leaf that anchors an event and its place in the deployment's chain. */
export const adminEventLeaf = (event_hash: string, place: ChainPlace): AdminEventLeaf => ({
  leaf_version: ADMIN_EVENT_LEAF_VERSION,
  event_hash,
  ...place,
})

/** The document of an anchored event. */
export const adminEvent = (body: AdminEventBody, { leaf, entry }: Anchor<AdminEventLeaf>): AdminEvent => ({
  ...body,
  event_hash: leaf.event_hash,
  leaf,
  entry,
})
