/** How islands ask this service: with the cookie of the session, following no redirect, and not for ever. */

const TIMEOUT_MS = 30_000

export const askService = (address: string): Promise<Response> =>
  fetch(address, { credentials: "same-origin", redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) })
