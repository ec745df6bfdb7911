/** A refused request: code, status and one sentence for the caller. Thrown anywhere, rendered once, in app.ts. */
import { ERROR_CODES, type ErrorCode, type ErrorStatus } from "@runseal/core/wire/error-codes"

export class HttpError extends Error {
  override readonly name = "HttpError"
  readonly code: ErrorCode
  readonly status: ErrorStatus
  readonly headers: Readonly<Record<string, string>>

  /** @param message shown to the caller: it never quotes what was received, nor anything of the inside. */
  constructor(code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.code = code
    this.status = ERROR_CODES[code].status
    this.headers = headers
  }
}

/** 400 for a body whose member is missing, wrong or not accepted. */
export const badRequest = (message: string): HttpError => new HttpError("invalid_field", message)
export const notFound = (message: string): HttpError => new HttpError("not_found", message)

/** Refuses a close or redemption of what is closed or ended, or was not closed in time. */
export const permitNotOpen = (message: string = NOT_OPEN): HttpError => new HttpError("permit_not_open", message)
const NOT_OPEN = "The permit is not open: it was closed, it ended, or the time to close it is over."

/** A permit is sent in the body: RFC 9110 §15.5.2 demands a challenge all the same. */
const PERMIT_CHALLENGE = { "WWW-Authenticate": 'Permit realm="runseal"' }

/** Refuses to redeem what is no permit of this service for this path, or one that has expired. */
export const permitInvalid = (message: string): HttpError => new HttpError("permit_invalid", message, PERMIT_CHALLENGE)
export const alreadyRedeemed = (): HttpError =>
  new HttpError("already_redeemed", "The permit was redeemed before: it permits the act to the party that redeemed it.")

export const approvalOver = (): HttpError =>
  new HttpError("approval_over", "The request is over: it was decided, withdrawn, collected, or its time has passed.")

/** Seconds after which a caller may retry when sealing is not possible now. */
const RETRY_AFTER_SECONDS = "1"
export const unavailable = (
  message: string,
  code: "unavailable" | "overloaded" | "outcome_unknown" = "unavailable",
): HttpError => new HttpError(code, message, { "Retry-After": RETRY_AFTER_SECONDS })

/** The header field of a refusal that leads to the list of codes. @param baseUrl address of the service; absent: this host's */
export const helpLink = (baseUrl = ""): { readonly Link: string } => ({ Link: `<${baseUrl}/docs>; rel="help"` })
