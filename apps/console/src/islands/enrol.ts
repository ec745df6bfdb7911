/**
 * Makes a passkey and lets it sign that its person enrols it: two clicks, because Safari asks for each with a click of its own. Then the form is sent.
 */
import { decodeBase64, digest, encodeBase64 } from "@runseal/canonical"
import { enrolmentDigest } from "@runseal/core/formulas/signed-decision"
import {
  base64Of,
  hasPasskeys,
  hexBytes,
  keyOf,
  NO_PASSKEYS,
  NOTHING,
  onClick,
  sayIn,
  sendForm,
  signWith,
} from "./passkey-calls.ts"

const form = document.querySelector<HTMLFormElement>("form.enrol")
const make = form?.querySelector<HTMLButtonElement>('button[name="make"]')
const sign = form?.querySelector<HTMLButtonElement>('button[name="sign"]')
const say = sayIn(document.getElementById("enrol-status"))

/** ECDSA on P-256 with SHA-256: RFC 9053 section 2.1. */
const ES256 = -7
const CHALLENGE_BYTES = 32

type Made = { readonly id: Uint8Array<ArrayBuffer>; readonly public_key: string }

const data = (): Required<Record<"issuer" | "subject" | "origin" | "rp_id" | "name" | "exclude", string>> => {
  const { issuer = "", subject = "", origin = "", rpId = "", person = "", exclude = "" } = form?.dataset ?? {}
  return { issuer, subject, origin, rp_id: rpId, name: person, exclude }
}

/** A new key of this person. @throws Error, also those of the browser */
async function made(): Promise<Made> {
  const { issuer, subject, rp_id, name, exclude } = data()
  const credential = await navigator.credentials.create({
    publicKey: {
      rp: { id: rp_id, name: "Runseal" },
      // The same for all passkeys of the person, and says nothing about it.
      user: { id: hexBytes(digest({ issuer, subject })), name, displayName: name },
      // Nobody reads it: what counts is what the new key signs after this.
      challenge: crypto.getRandomValues(new Uint8Array(CHALLENGE_BYTES)),
      pubKeyCredParams: [{ type: "public-key", alg: ES256 }],
      attestation: "none",
      authenticatorSelection: { residentKey: "preferred", userVerification: "required" },
      excludeCredentials: exclude
        .split(" ")
        .flatMap(id => (id === "" ? [] : [keyOf(new Uint8Array(decodeBase64(id) ?? []))])),
    },
  })
  if (!(credential instanceof PublicKeyCredential)) throw new Error(NOTHING)
  const { response, rawId } = credential
  if (!(response instanceof AuthenticatorAttestationResponse)) throw new Error(NOTHING)
  return { id: new Uint8Array(rawId), public_key: publicKeyOf(response) }
}

/** @throws Error with a sentence */
function publicKeyOf(response: AuthenticatorAttestationResponse): string {
  try {
    const key = response.getPublicKeyAlgorithm() === ES256 ? response.getPublicKey() : null
    if (key !== null) return base64Of(key)
  } catch {
    // An older browser has no such function, or does not know the key.
  }
  throw new Error(
    "The browser does not give the public key of the new passkey. Use a newer browser, and delete this passkey.",
  )
}

function main(): void {
  if (!form || !make || !sign) return
  const { issuer, subject, origin, rp_id } = data()
  const isHere = location.origin === origin
  if (!(isHere && hasPasskeys())) {
    say(isHere ? NO_PASSKEYS : `Passkeys are made at ${origin} alone. Open this page there.`, true)
    return
  }
  let found: Made | undefined
  onClick(make, say, async () => {
    if (!form.reportValidity()) return
    found = await made()
    make.disabled = true
    sign.disabled = false
    sign.focus()
    say("The passkey is made. Sign with it now: until then the service does not know it.")
  })
  onClick(sign, say, async () => {
    if (found === undefined || !form.reportValidity()) return
    const { id, public_key } = found
    const challenge = enrolmentDigest({ issuer, subject, public_key, origin, rp_id })
    const signed = await signWith({ challenge, rpId: rp_id, credentials: [id] })
    sendForm(form, sign, { ...signed, credential_id: encodeBase64(id), public_key })
  })
  make.disabled = false
}

main()
