/** What acting under a permit throws besides the errors of its calls. */
import type { ActFailureCode } from "@runseal/core/artifacts/permit-sections"
import { ASKING_REFUSED, type AskedApprovalAnswer, pendingSentence } from "@runseal/core/wire/approval-answers"
import type { ErrorCode } from "@runseal/core/wire/error-codes"
import {
  BadRequestError,
  EndUserTokenError,
  HttpStatusError,
  InvalidArgumentError,
  PayloadTooLargeError,
  RunsealError,
} from "./client-errors.ts"
import type { RefusedRun } from "./execute-result.ts"

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

/**
 * People decide on the act, and have not: nothing is permitted, and the act must not be done, whatever becomes of calls without a decision. The same
 * request later finds what they decided, and so does `permits.collect`. `cause` is why the service could not be polled.
 */
export class ApprovalPending extends RunsealError {
  override readonly name = "ApprovalPending"
  readonly approval_id: string
  /** Where they decide: a page of the console. */
  readonly address: string
  /** RFC 3339: from then on the act cannot be approved, and its permit not collected. */
  readonly expires_at: string

  constructor({ approval_id, address, expires_at }: AskedApprovalAnswer, options?: ErrorOptions) {
    super(pendingSentence({ address, expires_at }), options)
    this.approval_id = approval_id
    this.address = address
    this.expires_at = expires_at
  }
}

/**
 * The permit allows this call nothing: another call used it, it is over, or nobody knows whether it could be redeemed, which `cause` says. The
 * act was not started.
 */
export class PermitUsedError extends RunsealError {
  override readonly name = "PermitUsedError"
  readonly permitId: string

  constructor(permitId: string, cause?: unknown) {
    super(`The permit ${permitId} allows this call nothing: it was used or is over.`, { cause })
    this.permitId = permitId
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
 * Whether a call, or what it is closed with, cannot be sent or is not taken (400, 413, 431), or its end user is not, or people cannot be asked for their
 * approval. A caller or a tool can bring that about: it is no reason to go on without a decision, as an outage may be.
 */
export const isUnfit = (error: unknown): boolean =>
  error instanceof PermitNotClosedError
    ? isUnfit(error.cause)
    : [InvalidArgumentError, EndUserTokenError, BadRequestError, PayloadTooLargeError].some(
        kind => error instanceof kind,
      ) ||
      (error instanceof HttpStatusError && (error.status === 431 || REFUSED.some(code => code === error.code)))

const REFUSED: readonly ErrorCode[] = ["end_user_required", "end_user_token_invalid", ...ASKING_REFUSED]
