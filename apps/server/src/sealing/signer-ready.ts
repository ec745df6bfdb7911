/**
 * Whether a remote service key signs now: without its signatures nothing can be sealed. The probe is a signature, since that is the
 * permission that counts: a role that may sign need not be allowed to read the public key. Decision 0113.
 */
import { utf8Encode } from "@runseal/canonical"
import type { EcdsaKey } from "../keys/ecdsa-keys.ts"
import type { Readiness, Telemetry } from "../telemetry.ts"
import { boundedFinding } from "./bounded-finding.ts"
import { READINESS_DEADLINE_MS } from "./readiness.ts"
import { REASONS } from "./trial-write.ts"

/** How long a result is cached, in milliseconds: each probe costs a signature. */
export const SIGNER_CACHE_MS = 5000

/** Neither a leaf, which is a JSON text, nor a DSSE encoding: its signature attests nothing, and it is not stored. */
export const PROBE = utf8Encode("runseal: signed to see that the signer signs")

type SignerParts = {
  readonly key: EcdsaKey
  readonly nowMs: () => number
  readonly telemetry: Pick<Telemetry, "signerChanged">
}

/** A batch that waits for the signer holds the log's head, and the one connection of the embedded database: so the signer is named, not them. */
const WHILE_SIGNING: ReadonlySet<string> = new Set([REASONS.silent, REASONS.absent, REASONS.locked])

/** The readiness that also probes the signer of the service key, where there is one. Never rejects. */
export function readyWithSigner(
  readiness: () => Promise<Readiness>,
  { key, nowMs, telemetry }: SignerParts,
): () => Promise<Readiness> {
  if (!key.isElsewhere) return readiness
  let signs = true
  const note = (now: boolean, cause?: unknown): void => {
    if (now !== signs) telemetry.signerChanged(now, cause)
    signs = now
  }
  const problem = boundedFinding<string | undefined>({
    ask: async () => {
      try {
        await key.signAll([PROBE])
        note(true)
        return undefined
      } catch (error) {
        note(false, error)
        return "The signer of the service key gives no signature."
      }
    },
    late: () => "The signer of the service key does not answer.",
    deadlineMs: READINESS_DEADLINE_MS,
    cacheMs: SIGNER_CACHE_MS,
    nowMs,
  })
  return async () => {
    const [found, reason] = await Promise.all([readiness(), problem()])
    const isOther = !found.ready && !WHILE_SIGNING.has(found.reason)
    return reason === undefined || isOther ? found : { ready: false, reason, checked_at: found.checked_at }
  }
}
