/** The one instant of a run, and the identifiers that follow from it. docs/formats.md section 2. */
import { decodeHex, digest, hmacSha256Hex } from "@runseal/canonical"
import type { DeclaredName } from "../artifacts/declared-sections.ts"
import type { PermitUseSection } from "../artifacts/permit-sections.ts"
import type { EnvelopeSection } from "../artifacts/sealed-sections.ts"

/** Made once, when a request is admitted; every clock, identifier and salt of the run derives from it. */
export type Moment = {
  /** Admission clock: RFC 3339 UTC with milliseconds. */
  readonly at: string
  /** 32 random bytes in hex, sealed as run_nonce. */
  readonly nonce: string
  /** Disclosure seed: 32 random bytes in hex, stored by the service, never sealed or shown. */
  readonly seed: string
}

export type RunInputs = {
  readonly program_id: string
  readonly route_id: string
  readonly registry_record_hash: string
  readonly payload_hash: string
}

const short = (hash: string, hexDigits: number): string => hash.slice(0, hexDigits)

/** `env-` and 16 hex digits, different for every run because clock and nonce enter. */
export const envelopeId = (inputs: RunInputs, moment: Pick<Moment, "at" | "nonce">): string =>
  `env-${short(
    digest({
      kind: "vfa.envelope_id.v1",
      program_id: inputs.program_id,
      route_id: inputs.route_id,
      registry_record_hash: inputs.registry_record_hash,
      payload_hash: inputs.payload_hash,
      admission_clock: moment.at,
      run_nonce: moment.nonce,
    }),
    16,
  )}`

/** `seq-` and 16 hex digits over the envelope, which holds clock and nonce. */
export const sequenceId = (envelopeHash: string): string =>
  `seq-${short(digest({ kind: "vfa.sequence_id.v1", envelope_hash: envelopeHash }), 16)}`

/** `chg-` and 32 hex digits: one charge per envelope, so that a retried charge is recognised. */
export const chargeId = (envelopeHash: string): string =>
  `chg-${short(digest({ kind: "vfa.charge_id.v1", envelope_hash: envelopeHash }), 32)}`

/** `pmt-` and 32 hex digits: one permit per envelope. */
export const permitId = (envelopeHash: string): string =>
  `pmt-${short(digest({ kind: "vfa.permit_id.v1", envelope_hash: envelopeHash }), 32)}`

/** `apr-` and 32 hex digits: one request for an approval per envelope. */
export const approvalId = (envelopeHash: string): string =>
  `apr-${short(digest({ kind: "vfa.approval_id.v1", envelope_hash: envelopeHash }), 32)}`

/** Names a comment without showing it: HMAC-SHA-256 under a salt of its own, 64 hex digits: who deletes both leaves a hash that names nothing. */
export const commentHash = (salt: string, comment: string): string => {
  const key = decodeHex(salt)
  if (key === undefined) throw new RangeError("the salt of a comment is 64 lowercase hex digits")
  return hmacSha256Hex(key, comment)
}

/** Salt of a section that can be withheld: HMAC-SHA-256 of its name under the disclosure seed. */
export function sectionSalt(
  moment: Pick<Moment, "seed">,
  name: DeclaredName | "act" | "end_user" | "approvals",
): string {
  const seed = decodeHex(moment.seed)
  if (seed === undefined) throw new RangeError("the disclosure seed is 64 lowercase hex digits")
  return hmacSha256Hex(seed, name)
}

/** A run that gates decide on: its envelope, and at its close the permit that it closes. */
export type DecidedRun = { readonly envelope: EnvelopeSection; readonly permit?: PermitUseSection }

/** The instant at which a run is decided: its admission, or that of its close. Every clock of its record but the envelope's is this one. */
export const decisionClock = ({ envelope, permit }: DecidedRun): string =>
  permit?.closed_clock ?? envelope.admission_clock
