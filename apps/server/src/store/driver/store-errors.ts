/** The one error that leaves the store. It names what happened to the data, never the SQL, a parameter or a row. */
import { DrizzleQueryError } from "drizzle-orm/errors"

/**
 * - `unavailable`: the database is out of reach, too busy or a queue is full. Nothing was written.
 * - `conflict`: another writer was first. Nothing was written.
 * - `rolled_back`: the database refused a statement. Nothing was written.
 * - `outcome_unknown`: COMMIT was sent and not confirmed: the connection was lost, no answer came in time, or the server warned
 *   that it had given up waiting for its standby. Or a step that must follow the commit failed. Read back before deciding anything;
 *   what is read may still be lost: see Database.confirm.
 * - `corrupt`: a stored value is not one this code writes.
 */
export type StoreErrorCode = "unavailable" | "conflict" | "rolled_back" | "outcome_unknown" | "corrupt"

const SENTENCES: Readonly<Record<StoreErrorCode, string>> = {
  unavailable: "The database is not available.",
  conflict: "Another writer was first; nothing was written.",
  rolled_back: "The database refused the transaction; nothing was written.",
  outcome_unknown: "The database did not confirm a commit; whether it took effect is not known.",
  corrupt: "The database holds a value that this release does not write.",
}

export class StoreError extends Error {
  override readonly name = "StoreError"
  readonly code: StoreErrorCode
  /** Five characters, PostgreSQL documentation "Error Codes"; absent when no server answered. */
  readonly sqlstate: string | undefined
  /** Ended by a timeout: the next request would time out too, so that it is refused at once. */
  readonly late: boolean
  /** The sentence for the caller of a request; absent: the general one for failures of the store. */
  readonly callerMessage: string | undefined

  constructor(code: StoreErrorCode, details: StoreErrorDetails = {}) {
    super(details.message ?? SENTENCES[code], details.cause === undefined ? {} : { cause: details.cause })
    this.code = code
    this.sqlstate = details.sqlstate
    this.callerMessage = details.callerMessage ?? lastingState(code, details.sqlstate)
    this.late = details.late ?? LATE_SQLSTATES.has(details.sqlstate ?? "")
  }
}

/** The sentences for callers of states that end only when an operator does something, by SQLSTATE; all others pass by themselves. */
const LASTING_STATES: Readonly<Record<string, string>> = {
  "25006":
    "The database takes no writes now; nothing was acknowledged. Try again; if it stays so, its operator has to bring back a server that takes them.",
  "53000":
    "The database can open no more files now; nothing was acknowledged. Try again; if it stays so, the operator has to raise the limit of the process.",
  "53100":
    "The disk of the database is full; nothing was acknowledged. Nothing is recorded until its operator makes room.",
}
const REFUSED =
  "The database refuses what the service asks of it; nothing was acknowledged. Trying again seldom helps before the operator has found the cause, which is in the process log."

/** An error of the system (58) or of the database itself (XX) passes: the database is opened again. */
const lastingState = (code: StoreErrorCode, sqlstate = ""): string | undefined =>
  LASTING_STATES[sqlstate] ?? (code === "rolled_back" && !/^(?:58|XX|$)/.test(sqlstate) ? REFUSED : undefined)

type StoreErrorDetails = {
  readonly sqlstate?: string | undefined
  readonly message?: string | undefined
  readonly late?: boolean
  readonly callerMessage?: string | undefined
  readonly cause?: unknown
}

/** A lock that was not released in time, and a statement that was cancelled. */
const LATE_SQLSTATES: ReadonlySet<string> = new Set(["55P03", "57014"])

/** Whether a connection is of no more use after this error: the server ends it, or it is a standby now and takes no writes. */
export const endsConnection = (error: unknown): boolean =>
  error instanceof StoreError && /^(08|57P0[1-5]|25006)/.test(error.sqlstate ?? "")

const SQLSTATE = /^[0-9A-Z]{5}$/

/** What an SQLSTATE, or its class of two characters, says about the data; anything else is a refusal. */
const CODE_OF_SQLSTATE: Readonly<Record<string, StoreErrorCode>> = {
  "08": "unavailable",
  "23505": "conflict",
  "25006": "unavailable",
  "25P03": "unavailable",
  "40": "conflict",
  "53": "unavailable",
  "55P03": "unavailable",
  "57": "unavailable",
}

/** Failures between here and the server, as postgres.js and Node name them. */
const CONNECTION_FAILURES: ReadonlySet<string> = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "CONNECTION_ENDED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
  "NO_PRIMARY",
])

/** The error of a socket of ours that is gone, in postgres.js's terms. */
export function connectionClosed(): Error {
  return Object.assign(new Error("The connection to the database is closed."), { code: "CONNECTION_CLOSED" })
}

/** Servers answered, and none of them takes writes. */
export function noPrimary(): Error {
  return Object.assign(new Error("No server of the database takes writes."), { code: "NO_PRIMARY" })
}

/** What the driver threw: drizzle wraps it in an error whose message is the statement. */
const driverError = (error: unknown): unknown => (error instanceof DrizzleQueryError ? error.cause : error)

/** The driver's error code. */
export function driverCode(error: unknown): string | undefined {
  const thrown = driverError(error)
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined
}

/** Whether no server answered. */
export function isConnectionFailure(error: unknown): boolean {
  return CONNECTION_FAILURES.has(driverCode(error) ?? "")
}

/** A driver's error as a StoreError. Anything else, such as a bug or what a transaction's work threw, stays as it is. */
export function storeErrorFrom(error: unknown): unknown {
  const thrown = driverError(error)
  // The driver attaches the statement to every error it rejects with, so that even our own error is made anew.
  if (thrown instanceof StoreError) return new StoreError(thrown.code, thrown)
  if (isConnectionFailure(thrown)) return new StoreError("unavailable")
  const sqlstate = driverCode(thrown)
  if (sqlstate === undefined || !SQLSTATE.test(sqlstate)) return thrown
  const code = CODE_OF_SQLSTATE[sqlstate] ?? CODE_OF_SQLSTATE[sqlstate.slice(0, 2)] ?? "rolled_back"
  return new StoreError(code, { sqlstate })
}
