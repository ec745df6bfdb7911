/** A refused request: status and one sentence for the caller. Thrown anywhere, rendered once, in app.ts. */
export type ErrorStatus = 400 | 401 | 403 | 404 | 406 | 409 | 413 | 429 | 500 | 503

export class HttpError extends Error {
  override readonly name = "HttpError"
  readonly status: ErrorStatus
  readonly headers: Readonly<Record<string, string>>

  /** @param message shown to the caller: it never quotes what was received, nor anything of the inside. */
  constructor(status: ErrorStatus, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.status = status
    this.headers = headers
  }
}

export const badRequest = (message: string): HttpError => new HttpError(400, message)
export const notFound = (message: string): HttpError => new HttpError(404, message)

/** Seconds after which a caller may retry when sealing is not possible now. */
const RETRY_AFTER_SECONDS = "1"
export const unavailable = (message: string): HttpError =>
  new HttpError(503, message, { "Retry-After": RETRY_AFTER_SECONDS })
