/**
 * Makes *Approve* active: when the payload on the page is the one whose hash the sealed request has, and its end was in view. It asks the service
 * for nothing, so that what is approved is what was shown.
 */
import { decodeBase64, encodeHex } from "@runseal/canonical"

const form = document.querySelector<HTMLFormElement>("form.decide")
const approve = form?.querySelector<HTMLButtonElement>('button[value="approve"]')
const status = document.getElementById("approve-status")
const end = document.getElementById("payload-end")

/** Why the payload cannot be approved; undefined where it is the one that was sealed. */
async function faultOf(payload: string, hash: string): Promise<string | undefined> {
  // Browsers have it over https and on the machine itself.
  if (!window.isSecureContext)
    return "This browser can check the payload over https only. Open this page there to approve."
  const bytes = decodeBase64(payload)
  const digest = bytes && encodeHex(new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes))))
  return digest === hash
    ? undefined
    : "The payload on this page is not the one that was sealed. It cannot be approved; tell the operator."
}

const seen = (element: Element): Promise<void> =>
  new Promise(resolve => {
    const observer = new IntersectionObserver(entries => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return
      observer.disconnect()
      resolve()
    })
    observer.observe(element)
  })

async function main(): Promise<void> {
  const { payload, hash = "" } = form?.dataset ?? {}
  if (!approve || status === null || end === null || payload === undefined) return
  const fault = await faultOf(payload, hash).catch(() => "This browser could not check the payload.")
  if (fault !== undefined) {
    status.textContent = fault
    status.className = "bad-text"
    return
  }
  status.textContent = "The payload is the one that was sealed. Approve becomes active when you have seen its end."
  await seen(end)
  approve.disabled = false
  status.textContent = "The payload is the one that was sealed, and its end was shown."
}

void main()
