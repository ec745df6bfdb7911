/**
 * How islands ask the browser for passkeys (WebAuthn, ES256), and say what comes of a click. They judge nothing: the service checks what comes
 * back, and so does every verifier.
 */
import { decodeHex, encodeBase64 } from "@runseal/canonical"

/** What one call asks for. */
type Asked = {
  /** 64 hex digits. */
  readonly challenge: string
  readonly rpId: string
  /** Ids of the passkeys that may sign. */
  readonly credentials: readonly Uint8Array<ArrayBuffer>[]
}

export const base64Of = (bytes: ArrayBuffer): string => encodeBase64(new Uint8Array(bytes))

/** The bytes of hex digits, as browsers take them. */
export const hexBytes = (hex: string): Uint8Array<ArrayBuffer> => new Uint8Array(decodeHex(hex) ?? [])

export const keyOf = (id: Uint8Array<ArrayBuffer>): PublicKeyCredentialDescriptor => ({ type: "public-key", id })

/** What the API and the section `approvals` call the parts of an assertion, each in base64. */
type Assertion = {
  readonly credential_id: string
  readonly authenticator_data: string
  readonly client_data_json: string
  readonly signature: string
}

/** Lets a passkey sign. The browser is asked before this function gives its promise: Safari wants the click itself. @throws Error, also those of the browser */
export async function signWith({ challenge, rpId, credentials }: Asked): Promise<Assertion> {
  const credential = await navigator.credentials.get({
    publicKey: {
      challenge: hexBytes(challenge),
      rpId,
      allowCredentials: credentials.map(keyOf),
      userVerification: "required",
    },
  })
  if (!(credential instanceof PublicKeyCredential)) throw new Error(NOTHING)
  const { response, rawId } = credential
  if (!(response instanceof AuthenticatorAssertionResponse)) throw new Error(NOTHING)
  return {
    credential_id: base64Of(rawId),
    authenticator_data: base64Of(response.authenticatorData),
    client_data_json: base64Of(response.clientDataJSON),
    signature: base64Of(response.signature),
  }
}

export const NOTHING = "The browser gave no passkey. Try it again."

/** Whether this browser has passkeys on this page; they are for https, and for the machine itself. */
export const hasPasskeys = (): boolean => window.isSecureContext && "PublicKeyCredential" in window
export const NO_PASSKEYS = "This browser has no passkeys, or this page was not loaded over https."

/** The names of errors that browsers give, WebAuthn sections 5.1.3 and 5.1.4. */
const SENTENCES: ReadonlyMap<string, string> = new Map([
  ["NotAllowedError", "No passkey was used: it was cancelled, took too long, or is not on this device. Try it again."],
  [
    "InvalidStateError",
    "This device has a passkey of yours already. Use another device, or revoke that passkey first.",
  ],
  ["NotSupportedError", "This device has no passkeys of the kind that is needed here (ES256). Use another one."],
  ["ConstraintError", "This device cannot check who you are. Set a PIN, a fingerprint or a face on it first."],
  ["SecurityError", "The browser uses no passkey at this address. Open the page at the address of the service."],
])

/** Why nothing was signed, in a sentence for the person. */
const sentenceOf = (error: unknown): string =>
  error instanceof DOMException
    ? (SENTENCES.get(error.name) ?? "The browser could not use a passkey. Try it again, or use another device.")
    : error instanceof Error
      ? error.message
      : NOTHING

/** Writes sentences into an element of the page, where it has it. */
export const sayIn =
  (status: HTMLElement | null): ((text: string, isBad?: boolean) => void) =>
  (text, isBad = false) => {
    if (status === null) return
    status.textContent = text
    status.className = isBad ? "bad-text" : ""
  }

/**
 * Runs what a click begins, once at a time. A click sends no form: the work does that where it is wanted.
 * @param say takes the sentence of what failed
 */
export function onClick(
  button: HTMLButtonElement,
  say: (text: string, isBad: boolean) => void,
  run: () => Promise<void>,
): void {
  let isBusy = false
  button.addEventListener("click", event => {
    event.preventDefault()
    if (isBusy) return
    isBusy = true
    run()
      .catch((error: unknown) => say(sentenceOf(error), true))
      .finally(() => {
        isBusy = false
      })
  })
}

/** Writes values into hidden fields of a form, and sends it with a button. */
export function sendForm(
  form: HTMLFormElement,
  button: HTMLButtonElement,
  values: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(values)) {
    const input = document.createElement("input")
    Object.assign(input, { type: "hidden", name, value })
    form.querySelector(`input[type="hidden"][name="${name}"]`)?.remove()
    form.append(input)
  }
  form.requestSubmit(button)
}
