/** Admin events on their way into the log. docs/formats.md section 7.10. */
import { canonicalUtf8 } from "@runseal/canonical"
import {
  type AdminEvent,
  type AdminEventBody,
  type EventFacts,
  eventFactsSchema,
} from "@runseal/core/artifacts/admin-event"
import type { AdminEventLeaf } from "@runseal/core/artifacts/anchor"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { ADMIN_EVENT_FORM } from "@runseal/core/formulas/chain-forms"
import { leafBytes, leafDigest } from "@runseal/core/formulas/leaves"
import { moveHead, nextPlace, type TenantHead, tenantOf } from "@runseal/core/seal/tenant-chain"
import { DEPLOYMENT_TENANT } from "@runseal/core/vocabulary/scalars"
import { ADMIN_EVENT_KIND } from "@runseal/core/vocabulary/versions"
import type { Tenant } from "@runseal/core/wire/submission"
import { type AppendedLeaf, anchorOf, type EntryCheckpoint, type LogIdentity } from "../keys/embedded-log.ts"
import type { LogBuilder } from "../keys/log-builder.ts"
import type { Tx } from "../store/driver/session.ts"
import { type AdminEventRow, DEPLOYMENT_OWNER, factsOfRow, sealEventRows } from "../store/tables/admin-events.ts"
import { packBundle } from "../store/tables/bundle-text.ts"

/** Whose chain the events are. No API key has this id. */
export const DEPLOYMENT: Tenant = { tenant_id: DEPLOYMENT_TENANT, owner: DEPLOYMENT_OWNER }

/** An event that is committed and not sealed. */
export type DueEvent = Omit<AdminEventRow, "sealed_at" | "log_index" | "leaf_digest" | "document" | "idempotency_hash">

export type SealedEvent = {
  readonly ordinal: number
  readonly document: AdminEvent
  /** The document's UTF-8 bytes, as served. */
  readonly text: Uint8Array
  /** The text as it is stored; absent when it is not packed yet. */
  readonly packed?: Uint8Array
  readonly leaf_digest: string
  readonly log_index: number
}

/** What a row says. @throws Error when the database was changed from outside */
function factsOf(row: DueEvent): EventFacts {
  const facts = parseExact(eventFactsSchema, factsOfRow(row))
  if (!facts.ok) throw new Error(`the stored admin event ${row.ordinal} is unreadable`)
  return facts.value
}

/**
 * Gives an event its place in the deployment's chain and moves the chain's head. No action is later than its seal: where the clock of the
 * process that did it was ahead of the sealer's, it gets the sealer's time.
 * @param now milliseconds since the epoch, when it is sealed
 * @throws Error when its ordinal is not the next place: rows were deleted from outside
 */
export function chainEvent(row: DueEvent, now: number, tenants: Map<string, TenantHead>) {
  const tenant = tenantOf(tenants, DEPLOYMENT_TENANT)
  const place = nextPlace(tenant)
  if (place.tenant_ordinal !== row.ordinal) throw new Error(`admin event ${row.ordinal} is not the next to be sealed`)
  const facts = factsOf({ ...row, event_at: Math.min(row.event_at, now) })
  const body: AdminEventBody = {
    kind: ADMIN_EVENT_KIND,
    tenant_id: DEPLOYMENT_TENANT,
    ...facts,
    tenant_salt: tenant.salt,
    seal_clock: new Date(now).toISOString(),
  }
  const leaf = ADMIN_EVENT_FORM.leaf(body, place)
  const leaf_digest = leafDigest(leaf)
  moveHead(tenants, tenant, leaf_digest, 0)
  return { body, leaf, bytes: leafBytes(leaf), leaf_digest }
}

type AppendedEvent = {
  readonly body: AdminEventBody
  readonly leaf_digest: string
  readonly appended: AppendedLeaf<AdminEventLeaf>
}

/** The document of an event, proven against a checkpoint that includes it. */
export function sealEvent(
  { body, leaf_digest, appended }: AppendedEvent,
  log: LogIdentity,
  builder: LogBuilder,
  checkpoint: EntryCheckpoint,
): SealedEvent {
  const document = ADMIN_EVENT_FORM.document(body, anchorOf(log, builder, appended, checkpoint))
  const { leaf, index: log_index } = appended
  return { ordinal: leaf.tenant_ordinal, document, text: canonicalUtf8(document), leaf_digest, log_index }
}

/** Writes the documents of a batch's events into their rows. */
export const writeEvents = (tx: Tx, events: readonly SealedEvent[]): Promise<void> =>
  sealEventRows(
    tx,
    events.map(({ document, text, packed, ...place }) => ({
      ...place,
      event_at: Date.parse(document.event_clock),
      sealed_at: Date.parse(document.seal_clock),
      document: packed ?? packBundle(text),
    })),
  )
