/** The verification of what this process seals, before it is stored and after: threads, alarm, and the duty that a start takes over. Decision 0155. */
import type { JsonObject } from "@runseal/canonical"
import type { LogIdentity } from "../keys/embedded-log.ts"
import { keepSignatures } from "../keys/made-signatures.ts"
import { openVerifiedHeads } from "../keys/verified-heads.ts"
import type { Database } from "../store/driver/database.ts"
import type { Telemetry } from "../telemetry.ts"
import { createSignatureAlarm, type SignatureAlarm } from "./signature-alarm.ts"
import { openVerification, type VerifyTexts } from "./verification.ts"
import { verifyRecent } from "./verify-recent.ts"

type OwnVerification = Pick<SignatureAlarm, "ready"> & {
  /** The log whose signatures are verified. */
  readonly log: LogIdentity
  readonly verify: VerifyTexts
  /**
   * Verifies what processes may have left, beside everything else.
   * @param sizes of the log when they had last acknowledged something
   */
  readonly takeOver: (sizes: readonly number[]) => void
  /** Verifies what was put off, notes that nothing is left, then ends the threads. */
  readonly close: () => Promise<void>
}

type OwnVerificationParts = {
  /** The service's trust document. */
  readonly document: JsonObject
  readonly log: LogIdentity
  readonly db: Pick<Database, "read">
  /** Folder of the keys. */
  readonly keysDir: string
  /** Size of the log that this process acknowledged last. */
  readonly ownSize: () => number
  readonly telemetry: Pick<Telemetry, "signatureWrong" | "recentNotVerified">
}

export function openOwnVerification(parts: OwnVerificationParts): OwnVerification {
  const { document, log, db, telemetry } = parts
  const verified = openVerifiedHeads(parts.keysDir)
  const alarm = createSignatureAlarm(telemetry)
  const made = keepSignatures(log)
  const stop = new AbortController()
  let taken = Promise.resolve()
  const takeOver = (sizes: readonly number[]): void => {
    const found = { db, verification, verified, wrong: alarm.raise, signal: stop.signal }
    taken = taken
      .then(() => verifyRecent(sizes, found))
      .catch((error: unknown) => {
        if (!stop.signal.aborted) telemetry.recentNotVerified(error)
      })
  }
  // What a thread had put off is in the records of the last minute.
  const verification = openVerification(document, made, { wrong: alarm.raise, lost: () => takeOver([]) })
  return {
    log: made.log,
    verify: verification.verify,
    ready: alarm.ready,
    takeOver,
    close: async () => {
      stop.abort()
      await taken
      await verification.close()
      verified.add([parts.ownSize()])
    },
  }
}
