/** Why a log failed its audit. */
import type { SeenCheckpoint } from "./seen-checkpoints.ts"

/** The checks of an audit, in order. */
export const AUDIT_CHECKS = [
  "checkpoint",
  "witnesses",
  "history",
  "genesis",
  "entries",
  "tiles",
  "root",
  "keys",
  "documents",
] as const
export type AuditCheck = (typeof AUDIT_CHECKS)[number]

/** A check failed; the message is one sentence for the user (exit 1). A log that cannot be read throws InputError instead. */
export class AuditFailure extends Error {
  override readonly name = "AuditFailure"
  readonly check: AuditCheck
  /** The checkpoint seen before that contradicts the log now. Both together are the evidence. */
  readonly contradicts: SeenCheckpoint | undefined

  constructor(check: AuditCheck, message: string, contradicts?: SeenCheckpoint) {
    super(message)
    this.check = check
    this.contradicts = contradicts
  }
}
