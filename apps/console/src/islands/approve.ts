/**
 * Makes *Approve* active: when the payload on the page is the one whose hash the sealed request has, and its end was in view. It asks the service
 * for nothing, so that what is approved is what was shown. *Approve with a passkey* lets a passkey sign the act with that hash.
 */
import { decodeBase64, encodeHex } from "@runseal/canonical"
import { commentHash } from "@runseal/core/formulas/moment"
import { decisionDigest } from "@runseal/core/formulas/signed-decision"
import { hasPasskeys, NO_PASSKEYS, NOTHING, onClick, sayIn, sendForm, signWith } from "./passkey-calls.ts"

const form = document.querySelector<HTMLFormElement>("form.decide")
const approve = form?.querySelector<HTMLButtonElement>('button[value="approve"]')
const withPasskey = form?.querySelector<HTMLButtonElement>('button[value="passkey"]')
const say = sayIn(document.getElementById("approve-status"))
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

/** Resolves when an element was in view. What lies over the foot of a narrow screen hides what is below it. */
const seen = (element: Element, over: Element | null): Promise<void> =>
  new Promise(resolve => {
    const covers = over !== null && getComputedStyle(over).position === "sticky"
    const hidden = covers ? Math.ceil(over.getBoundingClientRect().height) : 0
    const observer = new IntersectionObserver(
      entries => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return
        observer.disconnect()
        resolve()
      },
      { rootMargin: `0px 0px -${hidden}px 0px` },
    )
    observer.observe(element)
  })

const SALT_BYTES = 32

/** What was typed, as the form sends it. */
const commentOf = (fields: FormData): string => `${fields.get("comment") ?? ""}`.replaceAll("\r\n", "\n").trim()

/**
 * What a passkey signs of this decision. The browser is asked before this function gives its promise: Safari wants the click itself.
 * @param payload_hash of the payload on the page, computed here
 * @throws Error, also those of the browser
 */
async function signedFields(
  owner: HTMLFormElement,
  { dataset }: HTMLElement,
  payload_hash: string,
): Promise<Readonly<Record<string, string>>> {
  const fields = new FormData(owner)
  const comment = commentOf(fields)
  const comment_salt = encodeHex(crypto.getRandomValues(new Uint8Array(SALT_BYTES)))
  const { expiresAt = "", validForSeconds, logOrigin = "", tenantId = "", audience = "" } = dataset
  const { programId = "", routeId = "", issuer = "", subject = "", rpId = "", keys = "" } = dataset
  const challenge = decisionDigest({
    request_hash: `${fields.get("request_digest") ?? ""}`,
    expires_at: expiresAt,
    valid_for_seconds: Number(validForSeconds),
    log_origin: logOrigin,
    tenant_id: tenantId,
    audience,
    program_id: programId,
    route_id: routeId,
    payload_hash,
    decision: "approve",
    issuer,
    subject,
    comment_hash: comment === "" ? undefined : commentHash(comment_salt, comment),
  })
  const ids = new Map(keys.split(" ").map(key => [key.slice(ID_DIGITS + 1), key.slice(0, ID_DIGITS)]))
  const credentials = [...ids.keys()].map(id => new Uint8Array(decodeBase64(id) ?? []))
  const { credential_id, ...signed } = await signWith({ challenge, rpId, credentials })
  const passkey_id = ids.get(credential_id)
  if (passkey_id === undefined) throw new Error(NOTHING)
  return { ...signed, passkey_id, comment_salt }
}

/** Of the id of a passkey, SHA-256 in hex. */
const ID_DIGITS = 64

/** @param payload_hash of the payload on the page, computed here */
function activate(owner: HTMLFormElement, button: HTMLButtonElement, payload_hash: string): void {
  if (!hasPasskeys()) {
    // Where it can be approved without one, what was checked stays in view.
    if (!approve) say(NO_PASSKEYS, true)
    return
  }
  onClick(button, say, async () => sendForm(owner, button, await signedFields(owner, button, payload_hash)))
  button.disabled = false
}

async function main(): Promise<void> {
  const { payload, hash = "" } = form?.dataset ?? {}
  if (!form || !(approve || withPasskey) || end === null || payload === undefined) return
  const fault = await faultOf(payload, hash).catch(() => "This browser could not check the payload.")
  if (fault !== undefined) {
    say(fault, true)
    return
  }
  say("The payload is the one that was sealed. Read it to its end to approve.")
  await seen(end, form.closest(".deciding"))
  say("The payload is the one that was sealed, and its end was shown.")
  if (approve) approve.disabled = false
  if (withPasskey) activate(form, withPasskey, hash)
}

void main()
