/** Everything the client throws: one class for each reaction a caller may have. Outcomes of a run are never errors. */

import type { ErrorCode } from "@runseal/core/wire/error-codes"

/** Base class of all of them. */
export class RunsealError extends Error {
  override readonly name: string = "RunsealError"
  /** HTTP method of the call; undefined for an error before a call. */
  readonly method: string | undefined
  /** Address of the call, without secrets; undefined for an error before a call. */
  readonly url: string | undefined
}

/** Adds the call to an error that has none. */
export function addCall(error: unknown, call: { readonly method: string; readonly url: string }): unknown {
  return error instanceof RunsealError && error.url === undefined ? Object.assign(error, call) : error
}

/** An argument was refused before anything was sent. The message never holds the key. */
export class InvalidArgumentError extends RunsealError {
  override readonly name = "InvalidArgumentError"
}

/** The function `endUserToken` threw, or gave nothing in time; nothing was sent. `cause` is what it threw, or the TimeoutError. */
export class EndUserTokenError extends RunsealError {
  override readonly name = "EndUserTokenError"

  constructor(cause: unknown) {
    super("The access token of the end user could not be had.", { cause })
  }
}

/** The operation cannot exist; nothing was sent. */
export class UnsupportedOperationError extends RunsealError {
  override readonly name = "UnsupportedOperationError"
}

/** A file of the caller could not be read or written. `cause` is the platform's error, whose `code` is such as `ENOENT`. */
export class FileError extends RunsealError {
  override readonly name = "FileError"
}

/** The service could not be reached, or its answer ended early. `cause` is the platform's error. */
export class NetworkError extends RunsealError {
  override readonly name = "NetworkError"
}

/** The answer was not complete in time. */
export class TimeoutError extends RunsealError {
  override readonly name = "TimeoutError"
  /** The bound that was reached, in milliseconds. */
  readonly limitMs: number

  constructor(limitMs: number) {
    super(`The service did not answer within ${limitMs} ms.`)
    this.limitMs = limitMs
  }
}

/** The caller's signal aborted the call; `cause` is its reason. */
export class AbortedError extends RunsealError {
  override readonly name = "AbortedError"

  constructor(cause: unknown) {
    super("The call was aborted.", { cause })
  }
}

/** The answer is not one of a Runseal service: another program, another release, or a damaged answer. */
export class ProtocolError extends RunsealError {
  override readonly name = "ProtocolError"

  /** @param problem what is wrong with the answer, without quoting it */
  constructor(problem: string) {
    super(`The answer is not one of a Runseal service: ${problem}.`)
  }
}

/** The service refused or failed. The message is the service's own sentence when it gave one. */
export class HttpStatusError extends RunsealError {
  override readonly name: string = "HttpStatusError"
  readonly status: number
  /** Seconds after which the service asked for a retry (RFC 9110 §10.2.3); undefined when it named none. */
  readonly retryAfterSeconds: number | undefined
  /** The service's code for this refusal, for programs; undefined when the answer has none, such as a proxy's. */
  readonly code: RefusalCode | undefined
  /** Identifies the request in the service's log; undefined when the answer has none. */
  readonly requestId: string | undefined

  constructor(status: number, sentence: string, { retryAfterSeconds, code, requestId }: RefusalDetails = {}) {
    super(sentence)
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
    this.code = code
    this.requestId = requestId
  }
}

/** A code of this release, or one of a later release. */
type RefusalCode = ErrorCode | (string & Record<never, never>)

/** What an answer states besides status and sentence. */
type RefusalDetails = {
  readonly retryAfterSeconds?: number | undefined
  readonly code?: RefusalCode | undefined
  readonly requestId?: string | undefined
}

export class BadRequestError extends HttpStatusError {
  override readonly name = "BadRequestError"
}

/** The deployment is locked and the key is missing, unknown or revoked. */
export class UnauthorizedError extends HttpStatusError {
  override readonly name = "UnauthorizedError"
}

export class ForbiddenError extends HttpStatusError {
  override readonly name = "ForbiddenError"
}

/** It does not exist, it belongs to another key, or the run ended in a state without that artifact. */
export class NotFoundError extends HttpStatusError {
  override readonly name = "NotFoundError"
}

/**
 * The idempotency key was used with other arguments: make a new call with a new key. With `retryAfterSeconds`, the first call
 * under the key is still running: retry this call to get its answer. With the code `already_done`, the action was done under this key.
 */
export class ConflictError extends HttpStatusError {
  override readonly name = "ConflictError"
}

export class PayloadTooLargeError extends HttpStatusError {
  override readonly name = "PayloadTooLargeError"
}

/** Too many calls, or the trial's runs are used up: the message then names `trial_quota_exceeded`. */
export class RateLimitedError extends HttpStatusError {
  override readonly name = "RateLimitedError"
}

export class UnavailableError extends HttpStatusError {
  override readonly name = "UnavailableError"
}

const CLASSES: ReadonlyMap<number, typeof HttpStatusError> = new Map<number, typeof HttpStatusError>([
  [400, BadRequestError],
  [401, UnauthorizedError],
  [403, ForbiddenError],
  [404, NotFoundError],
  [409, ConflictError],
  [413, PayloadTooLargeError],
  [429, RateLimitedError],
  [503, UnavailableError],
])

/** The error of a status. */
export function statusError(status: number, sentence: string, details?: RefusalDetails): HttpStatusError {
  const StatusError = CLASSES.get(status) ?? HttpStatusError
  return new StatusError(status, sentence, details)
}
