/** What acting under a permit throws besides the errors of its calls. */
import type { ActFailureCode } from "@runseal/core/artifacts/permit-sections"
import type { ErrorCode } from "@runseal/core/wire/error-codes"
import {
  BadRequestError,
  HttpStatusError,
  InvalidArgumentError,
  PayloadTooLargeError,
  RunsealError,
} from "./client-errors.ts"
import type { RefusedRun } from "./permit-calls.ts"

/** The act was refused before it began; nothing was reserved. */
export class PermitRefusedError extends RunsealError {
  override readonly name = "PermitRefusedError"
  /** The run that the service recorded, with its receipt. */
  readonly result: RefusedRun

  constructor(result: RefusedRun) {
    super(`The act was refused: ${result.error}`)
    this.result = result
  }
}

/** The act is done, and its output was refused: it must not be released. */
export class OutputRefusedError extends RunsealError {
  override readonly name = "OutputRefusedError"
  readonly permitId: string
  /** The run that the service recorded, with its receipt. */
  readonly result: RefusedRun

  constructor(permitId: string, result: RefusedRun) {
    super(`The output was refused: ${result.error}`)
    this.permitId = permitId
    this.result = result
  }
}

/**
 * The act is done, and no answer says that it is sealed; `cause` is why. Its output must not be released. `permits.get` tells whether the
 * permit is closed. Where the service could not answer, the close is sent again in the background until it does.
 */
export class PermitNotClosedError extends RunsealError {
  override readonly name = "PermitNotClosedError"
  readonly permitId: string

  constructor(permitId: string, cause: unknown) {
    super(`The act is done, and its permit ${permitId} could not be closed.`, { cause })
    this.permitId = permitId
  }
}

/** The act took longer than it was given, or than its permit is valid. It may still be going on. */
export class ActTimeoutError extends RunsealError {
  override readonly name = "ActTimeoutError"
  /** The bound that was reached, in milliseconds. */
  readonly limitMs: number

  constructor(limitMs: number) {
    super(`The act did not end within ${limitMs} ms.`)
    this.limitMs = limitMs
  }
}

/** Thrown by an act that knows why it failed, such as EXECUTOR_REFUSED when the one who was to act refused the permit. */
export class ActFailedError extends RunsealError {
  override readonly name = "ActFailedError"
  readonly code: ActFailureCode

  constructor(code: ActFailureCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * Whether a call, or what it is closed with, cannot be sent or is not taken (400, 413), or its end user is not. A caller or a tool can bring that
 * about: it is no reason to go on without a decision, as an outage may be.
 */
export const isUnfit = (error: unknown): boolean =>
  error instanceof PermitNotClosedError
    ? isUnfit(error.cause)
    : [InvalidArgumentError, BadRequestError, PayloadTooLargeError].some(kind => error instanceof kind) ||
      (error instanceof HttpStatusError && END_USER_REFUSED.some(code => code === error.code))

const END_USER_REFUSED: readonly ErrorCode[] = ["end_user_required", "end_user_token_invalid"]
