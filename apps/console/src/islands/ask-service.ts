/** How islands ask this service: with the cookie of the session, following no redirect, and not for ever. */
import { UNATTENDED_HEADER } from "@runseal/core/wire/session-use"

const TIMEOUT_MS = 30_000

export const askService = (address: string): Promise<Response> =>
  fetch(address, { credentials: "same-origin", redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) })

/** The same of what nobody asked for: it is no use of the session. @param waitMs for so long the service may hold the answer back */
export const askUnattended = (address: string, waitMs: number): Promise<Response> =>
  fetch(address, {
    credentials: "same-origin",
    redirect: "error",
    headers: { [UNATTENDED_HEADER]: "1" },
    signal: AbortSignal.timeout(TIMEOUT_MS + waitMs),
  })

/** The session has ended: a page that signs in came in the place of what was asked for. */
export class SessionEnded extends Error {}

/**
 * This page as it is now, which nobody asked for. As a document, which the browser parses as it did the page: no text becomes markup in a script.
 * @throws Error with a sentence
 */
export const fetchPage = (): Promise<Document> =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open("GET", location.href)
    request.responseType = "document"
    request.timeout = TIMEOUT_MS
    request.setRequestHeader(UNATTENDED_HEADER, "1")
    request.onload = () => {
      const { status, responseXML, responseURL } = request
      if (responseURL !== location.href.replace(/#.*$/, "")) return reject(new SessionEnded())
      if (status !== 200 || responseXML === null) return reject(new Error(`The service answered with ${status}`))
      resolve(responseXML)
    }
    request.onerror = () => reject(new Error("The service cannot be reached"))
    request.ontimeout = request.onerror
    request.send()
  })
