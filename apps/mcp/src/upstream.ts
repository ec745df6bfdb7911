export type SendOptions = {
  /** Aborts when nobody waits for the answer any more. */
  readonly signal?: AbortSignal
  /** The stream of the answer ended; without an answer it is lost. */
  readonly lost?: () => void
}

/** A server behind the gateway, whatever carries its messages. */
export type Upstream = {
  /** Sends one message. Rejects with an UpstreamError when it did not arrive, or the server refused it. */
  readonly send: (text: string, options?: SendOptions) => Promise<void>
  /** Resolves once the server has gone, with the exit code that the gateway takes over. */
  readonly gone: Promise<number>
  readonly stop: () => Promise<void>
}

/** Why a message was not answered: never started where the server could not be reached, refused, or failed. */
export class UpstreamError extends Error {
  readonly code: "NOT_EXECUTED" | "EXECUTOR_REFUSED" | "EXECUTOR_FAILED"

  constructor(code: UpstreamError["code"], message: string) {
    super(message)
    this.code = code
  }
}

/** Statuses with which a server refuses a request. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 406, 413, 415, 429])
export const codeOfStatus = (status: number): UpstreamError["code"] =>
  REFUSALS.has(status) ? "EXECUTOR_REFUSED" : "EXECUTOR_FAILED"

const UNREACHED: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH"])

/** The error of a request that got no answer. */
export function unanswered(error: unknown): UpstreamError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  return UNREACHED.has(code)
    ? new UpstreamError("NOT_EXECUTED", "the server cannot be reached")
    : new UpstreamError("EXECUTOR_FAILED", "the connection to the server broke")
}
