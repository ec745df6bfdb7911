/** The callers' requests in a simulation, and how each is sent until it is answered. */
import { canonicalize, sha256Hex, utf8Decode } from "@runseal/canonical"
import type { AskedPermit } from "@runseal/core/seal/permits/permit-terms"
import { ZERO_HASH } from "@runseal/core/vocabulary/scalars"
import type { Submission } from "@runseal/core/wire/submission"
import { HttpError } from "@runseal/server/http-error"
import { StoreError } from "@runseal/server/store/driver/store-errors"
import type { KeyClaim } from "@runseal/server/store/tables/idempotency-keys"
import type { Seeded } from "../seeded.ts"
import type { SimulatedProcess } from "./process.ts"

/** Token budget of one window and of one run: some drawn runs exceed either. */
export const TOKEN_BUDGET = 1000
const TOKENS = [0, 1, 300, 700, 1200]
export const TENANTS = [
  { tenant_id: "api-key-1", owner: 1 },
  { tenant_id: "api-key-2", owner: 2 },
] as const
/** Seconds for which permits are valid, and then may be closed. */
const VALID_SECONDS = [5, 30, 600]
const CLOSE_SECONDS = [120, 600]
/** How often one permit is redeemed or closed: more than one is a race. */
const TIMES = [0, 1, 1, 2]

/** The result of one attempt, as the caller sees it. */
export type Ending =
  | { readonly kind: "answered"; readonly record: string; readonly text: string | undefined }
  /** @param at milliseconds since the epoch */
  | { readonly kind: "redeemed"; readonly at: number }
  /** A final refusal: no repetition is answered in another way. */
  | { readonly kind: "denied"; readonly code: string }
  /** @param nothingWritten whether the error states that nothing was written */
  | { readonly kind: "refused"; readonly error: string; readonly nothingWritten: boolean }

export type Attempt = { readonly name: string; readonly process: string; ending: Ending | undefined }

/** A request: retried until it is answered when it has an idempotency key, sent once when it has none. */
export type Asked = {
  readonly name: string
  readonly kind: "run" | "attestation" | "opening" | "redemption" | "close"
  readonly tenant: (typeof TENANTS)[number]
  readonly tokens: number
  readonly claim: KeyClaim | undefined
  /** The opening of the permit that is redeemed or closed. */
  readonly opening?: Asked
  readonly terms?: AskedPermit
  readonly attempts: Attempt[]
}

/** A run or an attestation. */
export function drawRequest(random: Seeded, name: string): Asked {
  return draw(random, name, random.chance(0.75) ? "run" : "attestation", random.pick(TENANTS))
}

/** The same, or a permit with what is asked of it. */
export function drawRequests(random: Seeded, name: string): readonly Asked[] {
  if (random.chance(0.6)) return [drawRequest(random, name)]
  const tenant = random.pick(TENANTS)
  const asked = draw(random, name, "opening", tenant)
  const terms: AskedPermit = {
    audience: "acts.example",
    reserve_tokens: asked.tokens,
    valid_for_seconds: random.pick(VALID_SECONDS),
    close_within_seconds: random.pick(CLOSE_SECONDS),
    redeem_required: random.chance(0.5),
  }
  const opening: Asked = { ...asked, terms }
  const later = (["redemption", "close"] as const).flatMap(kind =>
    Array.from({ length: random.pick(TIMES) }, (_, at) => {
      const made = draw(random, `${kind}-${at + 1} of ${name}`, kind, tenant)
      return { ...made, opening, claim: kind === "redemption" ? undefined : made.claim }
    }),
  )
  return [opening, ...later]
}

function draw(random: Seeded, name: string, kind: Asked["kind"], tenant: Asked["tenant"]): Asked {
  const keyed = random.chance(0.5)
  const claim = keyed ? { key_hash: sha256Hex(`key of ${name}`), request_digest: sha256Hex(name) } : undefined
  return { name, kind, tenant, tokens: random.pick(TOKENS), claim, attempts: [] }
}

/** The permit that an opening was answered with; undefined before that, and when it was refused. */
export function permitOf({ attempts }: Asked): string | undefined {
  const records = attempts.flatMap(({ ending }) => (ending?.kind === "answered" ? [ending.record] : []))
  return records.find(record => record.startsWith("pmt-"))
}

/** Whether a caller would send it: a key makes a retry safe, and so does an answer that nothing was written. */
export function isOpen({ attempts, claim, opening }: Asked): boolean {
  const last = attempts.at(-1)
  if (last === undefined) return opening === undefined || permitOf(opening) !== undefined
  if (attempts.some(({ ending }) => ending !== undefined && ending.kind !== "refused")) return false
  if (claim !== undefined) return true
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

const again = (record: string): Ending => ({ kind: "answered", record, text: undefined })

async function send(asked: Asked, name: string, process: SimulatedProcess): Promise<Ending> {
  const { kind, tenant, tokens, claim } = asked
  switch (kind) {
    case "run": {
      const settled = await process.execute(submission(name, tenant, tokens), claim)
      return "record_id" in settled ? again(settled.record_id) : sealedRun(settled.made)
    }
    case "attestation": {
      const settled = await process.attest(tenant.owner, sha256Hex(name), claim)
      if ("record_id" in settled) return again(settled.record_id)
      return { kind: "answered", record: settled.made.document.attestation_id, text: settled.made.text }
    }
    case "opening": {
      const settled = await process.open(submission(name, tenant, 0), termsOf(asked), claim)
      if ("record_id" in settled) return again(settled.record_id)
      if ("refused" in settled.made) return sealedRun(settled.made.refused)
      const { opening } = settled.made
      return { kind: "answered", record: opening.permit_id, text: canonicalize(opening) }
    }
    case "redemption": {
      return { kind: "redeemed", at: await process.redeem(permitBehind(asked)) }
    }
    case "close": {
      const settled = await process.close(permitBehind(asked), tenant, reportedAct(name, tokens), claim)
      return "record_id" in settled ? again(settled.record_id) : sealedRun(settled.made)
    }
  }
}

const sealedRun = ({
  bundle,
  text,
}: {
  readonly bundle: { readonly run: { readonly run_id: number } }
  readonly text: Uint8Array
}): Ending => ({
  kind: "answered",
  record: `${bundle.run.run_id}`,
  text: utf8Decode(text),
})

function termsOf({ name, terms }: Asked): AskedPermit {
  if (terms === undefined) throw new Error(`${name} has no terms`)
  return terms
}

function permitBehind({ name, opening }: Asked): string {
  const permitId = opening && permitOf(opening)
  if (permitId === undefined) throw new Error(`${name} has no permit`)
  return permitId
}

/** The record of the close has the digest of the attempt's name. */
const reportedAct = (name: string, tokens: number) =>
  ({
    outcome: "completed",
    ai_output_text: name,
    declared: { request_substance: { cost: { total_tokens: tokens } } },
  }) as const

const submission = (name: string, tenant: Asked["tenant"], tokens: number): Submission => ({
  tenant,
  program_id: "a1".repeat(32),
  route_id: name,
  registry_record_hash: "b2".repeat(32),
  payload: "p",
  declared: { request_substance: tokens === 0 ? {} : { cost: { total_tokens: tokens } } },
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
  if (error instanceof HttpError) return { kind: "denied", code: error.code }
  throw error
}
