/** The callers' requests in a simulation, their answers, and what must hold of them at the end. */
import assert from "node:assert/strict"
import { sha256Hex, utf8Decode } from "@runseal/canonical"
import { ZERO_HASH } from "@runseal/core/vocabulary/scalars"
import type { Submission } from "@runseal/core/wire/submission"
import { HttpError } from "@runseal/server/http-error"
import { StoreError } from "@runseal/server/store/driver/store-errors"
import type { KeyClaim } from "@runseal/server/store/tables/idempotency-keys"
import type { Seeded } from "../seeded.ts"
import type { Sealed } from "./check.ts"
import type { SimulatedProcess } from "./process.ts"

/** Token budget of one window and of one run: some drawn runs exceed either. */
export const TOKEN_BUDGET = 1000
const TOKENS = [0, 1, 300, 700, 1200]
const TENANTS = [
  { tenant_id: "api-key-1", owner: 1 },
  { tenant_id: "api-key-2", owner: 2 },
] as const

/** The result of one attempt, as the caller sees it. */
export type Ending =
  | { readonly kind: "answered"; readonly record: string; readonly text: string | undefined }
  /** @param nothingWritten whether the error states that nothing was written */
  | { readonly kind: "refused"; readonly error: string; readonly nothingWritten: boolean }

export type Attempt = { readonly name: string; readonly process: string; ending: Ending | undefined }

/** A request: retried until it is answered when it has an idempotency key, sent once when it has none. */
export type Asked = {
  readonly name: string
  readonly kind: "run" | "attestation"
  readonly tenant: (typeof TENANTS)[number]
  readonly tokens: number
  readonly claim: KeyClaim | undefined
  readonly attempts: Attempt[]
}

export function drawRequest(random: Seeded, name: string): Asked {
  const keyed = random.chance(0.5)
  return {
    name,
    kind: random.chance(0.75) ? "run" : "attestation",
    tenant: random.pick(TENANTS),
    tokens: random.pick(TOKENS),
    claim: keyed ? { key_hash: sha256Hex(`key of ${name}`), request_digest: sha256Hex(name) } : undefined,
    attempts: [],
  }
}

export const isAnswered = ({ attempts }: Asked): boolean => attempts.some(({ ending }) => ending?.kind === "answered")

/** Whether a caller would retry it: a key makes a retry safe, and so does an answer that nothing was written. */
export function isOpen(asked: Asked): boolean {
  const last = asked.attempts.at(-1)
  if (last === undefined) return true
  if (isAnswered(asked)) return false
  if (asked.claim !== undefined) return true
  return last.ending?.kind === "refused" && last.ending.nothingWritten
}

/** Sends it once more. @param answered called with the answer as soon as it is given; a process that has ended gives none */
export async function attempt(
  asked: Asked,
  process: SimulatedProcess,
  isAlive: () => boolean,
  answered: (ending: Ending) => void,
): Promise<void> {
  const made: Attempt = { name: `${asked.name}.${asked.attempts.length + 1}`, process: process.name, ending: undefined }
  asked.attempts.push(made)
  const ending = await send(asked, made.name, process).catch(refused)
  if (!isAlive()) return
  made.ending = ending
  answered(ending)
}

async function send({ kind, tenant, tokens, claim }: Asked, name: string, process: SimulatedProcess): Promise<Ending> {
  if (kind === "run") {
    const settled = await process.execute(submission(name, tenant, tokens), claim)
    if ("record_id" in settled) return { kind: "answered", record: settled.record_id, text: undefined }
    return { kind: "answered", record: `${settled.made.bundle.run.run_id}`, text: utf8Decode(settled.made.text) }
  }
  const settled = await process.attest(tenant.owner, sha256Hex(name), claim)
  if ("record_id" in settled) return { kind: "answered", record: settled.record_id, text: undefined }
  return { kind: "answered", record: settled.made.document.attestation_id, text: settled.made.text }
}

const submission = (name: string, tenant: Asked["tenant"], tokens: number): Submission => ({
  tenant,
  program_id: "a1".repeat(32),
  route_id: name,
  registry_record_hash: "b2".repeat(32),
  payload: "p",
  declared: { request_substance: { cost: { total_tokens: tokens } } },
  declared_tokens: tokens,
  origin: {
    source_ip_hash: ZERO_HASH,
    user_agent_hash: ZERO_HASH,
    authentication: { method: "api_key", api_key_id: tenant.owner, api_key_name: tenant.tenant_id },
  },
})

/** @throws an error that no answer to a caller describes: it would be a 500 */
function refused(error: unknown): Ending {
  if (error instanceof StoreError)
    return { kind: "refused", error: error.code, nothingWritten: error.code !== "outcome_unknown" }
  if (error instanceof HttpError) return { kind: "refused", error: `${error.status}`, nothingWritten: false }
  throw error
}

/** Checks that the answers match the stored records. @param before number of records at the start of the world */
export function checkAnswers(requests: readonly Asked[], { runs, attestations }: Sealed, before: number): void {
  const stored = new Map([
    ...runs.map(({ row }) => [`${row.run_id}`, { text: row.bundle, of: row.route_id }] as const),
    ...attestations.map(({ row }) => [row.attestation_id, { text: row.document, of: row.digest }] as const),
  ])
  const sealedBy = (name: string): number =>
    runs.filter(({ row }) => row.route_id === name).length +
    attestations.filter(({ row }) => row.digest === sha256Hex(name)).length
  let all = 0
  for (const asked of requests) {
    const counts = asked.attempts.map(({ name }) => sealedBy(name))
    const sealed = counts.reduce((sum, count) => sum + count, 0)
    all += sealed
    for (const [at, { name, ending }] of asked.attempts.entries()) {
      const count = counts[at] ?? 0
      assert.ok(count <= 1, `${name} is sealed once`)
      if (ending?.kind === "answered") {
        const record = stored.get(ending.record)
        assert.ok(record !== undefined, `${name} was acknowledged as ${ending.record} and is there`)
        assert.ok(ofOneOf(asked.attempts, record.of), `${name} was answered with its own record`)
        if (ending.text !== undefined) assert.equal(record.text, ending.text, `${name} is as it was answered`)
      } else if (ending?.nothingWritten)
        assert.equal(count, 0, `${name} was answered that nothing was written (${ending.error})`)
    }
    if (asked.claim !== undefined) assert.ok(sealed <= 1, `${asked.name} has one key and ${sealed} records`)
    const records = asked.attempts.flatMap(({ ending }) => (ending?.kind === "answered" ? [ending.record] : []))
    if (asked.claim !== undefined) assert.ok(new Set(records).size <= 1, `${asked.name} is answered alike each time`)
  }
  assert.equal(before + all, runs.length + attestations.length, "nothing is sealed that no caller requested")
}

/** Whether a record belongs to one of these attempts. @param of its route, or its digest */
const ofOneOf = (attempts: readonly Attempt[], of: string): boolean =>
  attempts.some(({ name }) => of === name || of === sha256Hex(name))
