/** What passkeys sign: digests that are challenges of WebAuthn. docs/formats.md section 2.8. */
import { digest, type JsonObject } from "@runseal/canonical"
import type { ApproverKey } from "../artifacts/passkey.ts"

/** A decision of a person, with the act that it is on: who reads it needs no other document to see which act that is. */
export type SignedDecision = {
  /** The sealed request, its end, and for how long the permit is to be valid. */
  readonly request_hash: string
  readonly expires_at: string
  readonly valid_for_seconds: number
  /** The act, as the one who is to act knows it: by which service, and what. */
  readonly log_origin: string
  readonly tenant_id: string
  readonly audience: string
  readonly program_id: string
  readonly route_id: string
  readonly payload_hash: string
  readonly decision: "approve" | "reject"
  readonly issuer: string
  readonly subject: string
  readonly comment_hash?: string | undefined
}

/** The same, as it is hashed. */
export const signedDecision = ({ comment_hash, ...rest }: SignedDecision): JsonObject => ({
  kind: "vfa.approval_decision.v1",
  ...rest,
  ...(comment_hash === undefined ? {} : { comment_hash }),
})

/** Challenge of a decision, 64 hex digits. */
export const decisionDigest = (decision: SignedDecision): string => digest(signedDecision(decision))

/** That a person enrols this key. */
export const passkeyEnrolment = ({ issuer, subject, public_key, origin, rp_id }: ApproverKey): JsonObject => ({
  kind: "vfa.passkey_enrolment.v1",
  issuer,
  subject,
  public_key,
  origin,
  rp_id,
})

/** Challenge of an enrolment, 64 hex digits: who signs it holds the key. */
export const enrolmentDigest = (key: ApproverKey): string => digest(passkeyEnrolment(key))
