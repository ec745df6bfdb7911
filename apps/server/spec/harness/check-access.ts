/** Keys and publications: numbers without a gap, records that name their key as it is, publications of admins' own runs. */
import { parseStrictJson } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { textMember } from "@runseal/core/vocabulary/json-members"
import { expect } from "vitest"
import type { AdminEventRow } from "../../src/store/tables/admin-events.ts"
import type { ApiKeyRow } from "../../src/store/tables/api-keys.ts"
import { objectAt } from "./read-answer.ts"
import type { Tables } from "./read-tables.ts"

export function checkAccess({ keys, events, publications, runs }: Tables, bundles: readonly Bundle[]): void {
  expect(
    keys.map(key => key.key_id),
    "key numbers are 1, 2, 3 …",
  ).toEqual(Array.from({ length: keys.length }, (_, i) => i + 1))
  for (const key of keys) {
    expect(key.name.startsWith("customer:"), `the name of key ${key.key_id}`).toBe(key.scope === "customer")
    expect(key.secret_hash).toHaveLength(32)
  }
  for (const bundle of bundles) checkCaller(bundle, keys, events)
  const owners = new Map(runs.map(run => [run.run_id, run.owner]))
  for (const { run_id, token } of publications) {
    expect(token).toMatch(/^[0-9a-f]{32}$/)
    expect(keys[(owners.get(run_id) ?? 0) - 1]?.scope, `whoever published run ${run_id}`).toBe("admin")
  }
}

/** A record says who called, by the name that the key had; the tenant is the key. */
function checkCaller({ run, sections }: Bundle, keys: readonly ApiKeyRow[], events: readonly AdminEventRow[]): void {
  const { request_substance: section } = sections
  const origin = "origin" in section ? section.origin : undefined
  const { method, api_key_id = -1, api_key_name } = origin?.authentication ?? {}
  const tenant = api_key_id === 0 ? "anonymous" : `api-key-${api_key_id}`
  expect({ method, tenant }, `run ${run.run_id}`).toEqual({
    method: api_key_id === 0 ? "anonymous" : "api_key",
    tenant: run.tenant_id,
  })
  // Runs of keys that were never made are the harness's own.
  const key = keys[api_key_id - 1]
  if (key === undefined) return
  const changes = events.filter(({ action, subject_id }) => action === "key.change" && subject_id === `${key.key_id}`)
  const before = changes.map(change => textMember(objectAt(parseStrictJson(change.before)), "name"))
  expect([key.name, ...before]).toContain(api_key_name)
}
