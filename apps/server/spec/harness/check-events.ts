/** Every admin event: one chain without a gap, each a document that verifies and says what its row says. */
import type { AdminEvent } from "@runseal/core/artifacts/admin-event"
import { VERDICTS } from "@runseal/core/verify/report"
import { expect } from "vitest"
import { factsOfRow } from "../../src/store/tables/admin-events.ts"
import { type Auditor, referenceDigest } from "./auditor.ts"
import type { Tables } from "./read-tables.ts"

/** Judges the sealed events, and gives them. */
export function judgeEvents({ judge, checkEntry }: Auditor, { events }: Pick<Tables, "events">): readonly AdminEvent[] {
  return events
    .filter(row => row.log_index > 0)
    .map(row => {
      judge(row.document, VERDICTS.admin_event, `admin event ${row.ordinal}`)
      const event: AdminEvent = JSON.parse(row.document)
      checkEntry(event)
      expect(event).toMatchObject(factsOfRow(row))
      expect(row).toMatchObject({
        ordinal: event.leaf.tenant_ordinal,
        leaf_digest: referenceDigest(event.leaf),
        log_index: Number(event.entry.logIndex),
        sealed_at: Date.parse(event.seal_clock),
      })
      return event
    })
}

/** The chain of all events, of which each key that was made or revoked has one. */
export function checkEvents(
  auditor: Auditor,
  tables: Pick<Tables, "events" | "keys" | "tenants">,
): readonly AdminEvent[] {
  const { events, keys, tenants } = tables
  const sealed = judgeEvents(auditor, tables)
  expect(events.map(({ ordinal }) => ordinal)).toEqual(events.map((_, at) => at + 1))
  sealed.forEach(({ leaf }, at) => {
    const before = sealed[at - 1]
    expect(leaf.previous_record).toBe(before === undefined ? "0".repeat(64) : referenceDigest(before.leaf))
  })
  const head = tenants.find(({ owner }) => owner === -1)
  expect(head?.record_count ?? 0).toBe(sealed.length)
  const subjects = (action: string): number[] =>
    events.filter(event => event.action === action).map(event => Number(event.subject_id))
  expect(subjects("key.create")).toEqual(keys.map(({ key_id }) => key_id))
  expect(subjects("key.revoke").toSorted((a, b) => a - b)).toEqual(
    keys.filter(({ revoked_at }) => revoked_at !== 0).map(({ key_id }) => key_id),
  )
  return sealed
}
