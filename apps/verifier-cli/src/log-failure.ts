/** Why a log did not stand its audit. */
import type { SeenCheckpoint } from "./seen-checkpoints.ts"

/** What an audit checks, in the order in which it comes to it. */
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

/** A check failed; the message is one sentence for the user (exit 1). What could not be read is an InputError instead. */
export class AuditFailure extends Error {
  override readonly name = "AuditFailure"
  readonly check: AuditCheck
  /** The checkpoint seen before that the log now contradicts: with the new one, the evidence. */
  readonly contradicts: SeenCheckpoint | undefined

  constructor(check: AuditCheck, message: string, contradicts?: SeenCheckpoint) {
    super(message)
    this.check = check
    this.contradicts = contradicts
  }
}
