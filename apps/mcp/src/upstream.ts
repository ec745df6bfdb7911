/** A server behind the gateway, whatever carries its messages. */
import type { PermitClosing } from "@runseal/sdk"

type SendOptions = {
  /** Aborts when nobody waits for the answer any more. */
  readonly signal?: AbortSignal
  /** The stream of the answer ended; without an answer it is lost. */
  readonly lost?: () => void
}

export type Upstream = {
  /** Sends one message. Rejects with an UpstreamError when it did not arrive, or the server refused it. */
  readonly send: (text: string, options?: SendOptions) => Promise<void>
  /** Resolves once the server has gone, with the exit code that the gateway takes over. */
  readonly gone: Promise<number>
  readonly stop: () => Promise<void>
}

/** Why a call has no answer. */
export type Failure = { readonly code: NonNullable<PermitClosing["code"]>; readonly message: string }

export const LOST: Failure = { code: "EXECUTOR_FAILED", message: "the server ended its answer too early" }

export class UpstreamError extends Error implements Failure {
  readonly code: Failure["code"]

  constructor(code: Failure["code"], message: string) {
    super(message)
    this.code = code
  }
}

/** Statuses with which a server refuses a request. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 406, 413, 415, 429])
export const refusedWith = (status: number): UpstreamError =>
  new UpstreamError(REFUSALS.has(status) ? "EXECUTOR_REFUSED" : "EXECUTOR_FAILED", `the server answered ${status}`)

const UNREACHED: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH"])

/** The error of a request that got no answer. */
export function unanswered(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  return UNREACHED.has(code)
    ? new UpstreamError("NOT_EXECUTED", "the server cannot be reached")
    : new UpstreamError("EXECUTOR_FAILED", "the connection to the server broke")
}
