/**
 * Whether everything that this process signed or found verifies. A signature or record that does not is an alarm: this process is not
 * ready until it is started again, and runs ECDSA before each answer from then on. Decision 0155.
 */
import type { Readiness, Telemetry } from "../telemetry.ts"
import type { WrongSignature } from "./own-signatures.ts"

const REASON = "A signature of this service does not verify: see the process log."

export type SignatureAlarm = {
  readonly raise: (found: WrongSignature | { readonly objection: string }) => void
  /** The readiness, which ends with the first alarm. Never rejects. */
  readonly ready: (readiness: () => Promise<Readiness>) => () => Promise<Readiness>
}

export function createSignatureAlarm(telemetry: Pick<Telemetry, "signatureWrong">): SignatureAlarm {
  let raised = false
  return {
    raise: found => {
      raised = true
      telemetry.signatureWrong(found)
    },
    ready: readiness => async () => {
      const found = await readiness()
      return raised ? { ready: false, reason: REASON, checked_at: found.checked_at } : found
    },
  }
}
