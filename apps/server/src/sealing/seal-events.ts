/** Admin events on their way into the log. docs/formats.md section 7.10. */
import {
  ADMIN_EVENT_KIND,
  type AdminEventBody,
  type EventFacts,
  eventFactsSchema,
  PERSON_EVENT_KIND,
} from "@runseal/core/artifacts/admin-event"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { ADMIN_EVENT_FORM } from "@runseal/core/formulas/chain-forms"
import type { TenantHead } from "@runseal/core/seal/tenant-chain"
import { ADMIN_EVENT } from "@runseal/core/verify/verify-admin-event"
import { DEPLOYMENT_TENANT, PERSON_ACTOR } from "@runseal/core/vocabulary/scalars"
import type { Tenant } from "@runseal/core/wire/submission"
import { DEPLOYMENT_OWNER, type DueEventRow, factsOfRow } from "../store/tables/admin-events.ts"
import type { OpenItem } from "./batch.ts"
import { chainPart } from "./chain-part.ts"

/** Whose chain the events are. No API key has this id. */
export const DEPLOYMENT: Tenant = { tenant_id: DEPLOYMENT_TENANT, owner: DEPLOYMENT_OWNER }

/** What a row says. @throws Error when the database was changed from outside */
function factsOf(row: DueEventRow): EventFacts {
  const facts = parseExact(eventFactsSchema, factsOfRow(row))
  if (!facts.ok) throw new Error(`the stored admin event ${row.ordinal} is unreadable`)
  return facts.value
}

/**
 * An event, which takes the next place in the deployment's chain. No action is later than its seal: where the clock of the
 * process that did it was ahead of the sealer's, it gets the sealer's time.
 */
export const eventItem = (row: DueEventRow): OpenItem => ({
  kind: "event",
  waitsForEarlier: true,
  charge_id: "",
  bytes: 0,
  locks: { tenant: DEPLOYMENT },
  open: round =>
    chainPart(round, {
      place: "event",
      kind: ADMIN_EVENT,
      form: ADMIN_EVENT_FORM,
      tenant: DEPLOYMENT,
      bodyAt: head => eventBody(row, head, round.start.now),
      clockOf: ({ seal_clock }) => seal_clock,
      sealed: (document, { chain_ordinal: ordinal, instant: sealed_at, log_index }) => ({
        rows: { event: { ordinal, event_at: Date.parse(document.event_clock), sealed_at, log_index } },
        record_id: "",
        counted: ["admin_event"],
        acknowledge: () => undefined,
      }),
    }),
})

/**
 * An event before its own hash.
 * @param now milliseconds since the epoch, when it is sealed
 * @throws Error when its ordinal is not the next place: rows were deleted from outside
 */
function eventBody(row: DueEventRow, { record_count, salt }: TenantHead, now: number): AdminEventBody {
  if (record_count + 1 !== row.ordinal) throw new Error(`admin event ${row.ordinal} is not the next to be sealed`)
  return {
    kind: row.actor === PERSON_ACTOR ? PERSON_EVENT_KIND : ADMIN_EVENT_KIND,
    tenant_id: DEPLOYMENT_TENANT,
    ...factsOf({ ...row, event_at: Math.min(row.event_at, now) }),
    tenant_salt: salt,
    seal_clock: new Date(now).toISOString(),
  }
}
