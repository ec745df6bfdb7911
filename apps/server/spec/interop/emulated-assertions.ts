/**
 * Assertions of an authenticator and a browser that others wrote: the emulators of nid-webauthn-emulator, installed into a folder of its own. What
 * a browser gives is changed before the authenticator signs it, so that each answer is signed and only its meaning decides.
 */
import { execFileSync } from "node:child_process"
import { createRequire } from "node:module"
import { join } from "node:path"
import { concatBytes, decodeHex, encodeBase64, sha256, utf8Encode } from "@runseal/canonical"
import { toLowS } from "@runseal/log/keys/ecdsa-der"
import type { Passkey } from "../../../../libs/core/src/artifacts/passkey.ts"
import { challengeText } from "../../../../libs/core/src/verify/assertion.ts"

export const EMULATOR = "nid-webauthn-emulator@0.2.11"

/** One answer to a challenge, and whether the passkey signed it as docs/formats.md section 2.8 says. */
export type MadeAssertion = {
  readonly says: string
  readonly holds: boolean
  readonly challenge: string
  readonly passkey: Passkey
}

/** What is used of the emulators here; base64url where it is JSON. */
type Authenticator = {
  readonly command: (request: unknown) => unknown
}
type Answer = { readonly response: Readonly<Record<string, string>>; readonly id: string }
type Emulators = {
  readonly WebAuthnEmulator: new (
    authenticator: Authenticator,
  ) => {
    readonly createJSON: (origin: string, options: object) => Answer
    readonly getJSON: (origin: string, options: object) => Answer
  }
  readonly AuthenticatorEmulator: new (options: object) => Authenticator
  readonly packGetAssertionRequest: (request: object) => unknown
  readonly unpackGetAssertionResponse: (answer: unknown) => { authData: Uint8Array; signature: Uint8Array }
}

/** Installs packages into a folder. Throws where there is no package index. */
export function installInto(folder: string, ...packages: readonly string[]): NodeJS.Require {
  execFileSync("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", ...packages], { stdio: "pipe" })
  return createRequire(join(folder, "index.js"))
}

const CHALLENGE = "f0fbefbe".repeat(8)
const ORIGIN = "https://runseal.example"
const RP_ID = "runseal.example"

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64url"))
const base64Of = (text: string | undefined): string => encodeBase64(bytesOf(text ?? ""))

/** What a person does when the authenticator asks: be there, and be verified. */
const touched = (options: { readonly up: boolean; readonly uv: boolean }) => ({
  userGetAssertionInteraction: () => ({ options }),
})

/** The answers of untouched emulators, under settings of theirs. */
const SETTINGS: readonly (readonly [
  says: string,
  holds: boolean,
  settings: object,
  origin?: string,
  rp_id?: string,
])[] = [
  ["a passkey that is backed up", true, {}],
  ["a key that stays in its device", true, { stateless: true }],
  ["a counter that does not count", true, { signCounterIncrement: 0 }],
  ["a counter that leaps", true, { signCounterIncrement: 4_000_000_000 }],
  ["a person who was not verified", false, touched({ up: true, uv: false })],
  ["a person who was not there", false, touched({ up: false, uv: true })],
  ["nobody", false, touched({ up: false, uv: false })],
  ["a port", true, {}, `${ORIGIN}:8443`],
  ["this machine", true, {}, "http://localhost:3000", "localhost"],
  ["a relying party above its host", false, {}, "https://console.runseal.example"],
]

/** Members that a browser signs, as it writes them. */
const MEMBERS = { type: "webauthn.get", challenge: challengeText(CHALLENGE), origin: ORIGIN, crossOrigin: false }
const plain = JSON.stringify(MEMBERS)
const withMembers = (members: object): string => JSON.stringify({ ...MEMBERS, ...members })
const behind = (text: string): string => plain.replace(/\}$/, `,${text}}`)
const nested = (levels: number): string => behind(`"extra":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}`)
const filled = (bytes: number): string => behind(`"extra":"${"x".repeat(bytes - behind('"extra":""').length)}"`)

/** What is signed instead of a browser's data. */
const CLIENT_DATA: readonly (readonly [says: string, holds: boolean, data: string | Uint8Array])[] = [
  ["data as browsers write them", true, plain],
  [
    "members besides",
    true,
    withMembers({ other_keys_can_be_added_here: "do not compare", tokenBinding: { status: "supported" } }),
  ],
  ["members in another order", true, JSON.stringify(Object.fromEntries(Object.entries(MEMBERS).toReversed()))],
  ["spaces and lines", true, `\n${JSON.stringify(MEMBERS, null, 2)}\t`],
  ["no crossOrigin", true, withMembers({ crossOrigin: undefined })],
  ["a letter that is escaped", true, plain.replace("webauthn", "\\u0077ebauthn").replace("type", "\\u0074ype")],
  ["other scripts", true, withMembers({ extra: "päß 署名 \u{1f511}" })],
  ["members that objects inherit", true, behind('"__proto__":{"topOrigin":"x"},"toString":1,"constructor":null')],
  ["a fraction", true, behind('"extra":1.5e-7')],
  ["66 levels", true, nested(66)],
  ["4,096 bytes", true, filled(4096)],
  ["a registration", false, withMembers({ type: "webauthn.create" })],
  ["a payment", false, withMembers({ type: "payment.get" })],
  ["a type in capitals", false, withMembers({ type: "WEBAUTHN.GET" })],
  ["another challenge", false, withMembers({ challenge: challengeText("00".repeat(32)) })],
  ["a challenge with padding", false, withMembers({ challenge: `${MEMBERS.challenge}=` })],
  [
    "a challenge in the other alphabet",
    false,
    withMembers({ challenge: encodeBase64(decodeHex(CHALLENGE) ?? utf8Encode("")) }),
  ],
  ["a challenge with another last bit", false, withMembers({ challenge: MEMBERS.challenge.replace(/4$/, "5") })],
  ["a challenge in hex", false, withMembers({ challenge: CHALLENGE })],
  ["a challenge in a list", false, withMembers({ challenge: [MEMBERS.challenge] })],
  ["another origin", false, withMembers({ origin: "https://runseal.example.evil.example" })],
  ["an origin with a slash", false, withMembers({ origin: `${ORIGIN}/` })],
  ["an origin in capitals", false, withMembers({ origin: "https://RUNSEAL.example" })],
  ["an origin with its default port", false, withMembers({ origin: `${ORIGIN}:443` })],
  ["an origin that begins with a byte order mark", false, withMembers({ origin: `\ufeff${ORIGIN}` })],
  ["a page within another one", false, withMembers({ crossOrigin: true })],
  ["crossOrigin that is null", false, withMembers({ crossOrigin: null })],
  ["crossOrigin that is 0", false, withMembers({ crossOrigin: 0 })],
  ["crossOrigin that is a text", false, withMembers({ crossOrigin: "false" })],
  ["a page around it", false, withMembers({ topOrigin: ORIGIN })],
  ["topOrigin that is null", false, withMembers({ topOrigin: null })],
  ["two challenges, the right one last", false, plain.replace("{", '{"challenge":"AAAA",')],
  ["two challenges, the right one first", false, behind('"challenge":"AAAA"')],
  ["another member twice", false, behind('"extra":1,"\\u0065xtra":2')],
  ["a byte order mark", false, `\ufeff${plain}`],
  ["U+0000", false, behind('"extra":"\\u0000"')],
  ["U+0000 in a name", false, behind('"\\u0000":1')],
  ["half a character", false, behind('"extra":"\\ud800"')],
  ["a zero with a sign", false, behind('"extra":-0')],
  ["a number that no double has", false, behind('"extra":1e400')],
  ["an integer beyond the exact ones", false, behind('"extra":9007199254740993')],
  ["67 levels", false, nested(67)],
  ["a comma at the end", false, plain.replace(/\}$/, ",}")],
  ["a comment", false, `${plain}//`],
  ["something behind", false, `${plain}{}`],
  ["single quotes", false, plain.replaceAll('"', "'")],
  ["NaN", false, behind('"extra":NaN')],
  ["a control character", false, behind('"extra":"\t"')],
  ["a list", false, `[${plain}]`],
  ["a text", false, JSON.stringify(plain)],
  ["null", false, "null"],
  ["an empty object", false, "{}"],
  [
    "bytes that are no UTF-8",
    false,
    concatBytes(utf8Encode(plain.slice(0, -1)), utf8Encode(',"extra":"'), Uint8Array.of(0xff), utf8Encode('"}')),
  ],
  ["UTF-16", false, new Uint8Array(Buffer.from(plain, "utf16le"))],
]

/** All of them, signed by keys that are made here. */
export function emulatedAssertions(require: NodeJS.Require): readonly MadeAssertion[] {
  const emulators: Emulators = require("nid-webauthn-emulator")
  const untouched = SETTINGS.map(([says, holds, settings, origin = ORIGIN, rp_id = RP_ID]) =>
    untouchedAssertion(emulators, { says, holds, settings, origin, rp_id }),
  )
  const { signer, key, id } = newKey(emulators, {}, { origin: ORIGIN, rp_id: RP_ID })
  const changed = CLIENT_DATA.map(([says, holds, data]): MadeAssertion => {
    const bytes = typeof data === "string" ? utf8Encode(data) : data
    const request = { rpId: RP_ID, clientDataHash: sha256(bytes), allowList: [{ type: "public-key", id: bytesOf(id) }] }
    const answer = signer.command(emulators.packGetAssertionRequest({ ...request, options: { uv: true } }))
    const { authData, signature } = emulators.unpackGetAssertionResponse(answer)
    const passkey = {
      ...key,
      authenticator_data: encodeBase64(authData),
      client_data_json: encodeBase64(bytes),
      signature: encodeBase64(toLowS(signature)),
    }
    return { says, holds, challenge: CHALLENGE, passkey }
  })
  return [...untouched, ...changed]
}

type Place = { readonly origin: string; readonly rp_id: string }

function newKey({ AuthenticatorEmulator, WebAuthnEmulator }: Emulators, settings: object, place: Place) {
  const signer = new AuthenticatorEmulator(settings)
  const browser = new WebAuthnEmulator(signer)
  const made = browser.createJSON(place.origin, {
    rp: { id: place.rp_id, name: "Runseal" },
    user: { id: "AAAA", name: "carla", displayName: "Carla" },
    challenge: "AAAA",
    pubKeyCredParams: [{ type: "public-key", alg: -7 }],
    authenticatorSelection: { userVerification: "required", residentKey: "preferred" },
  })
  const key = { public_key: base64Of(made.response.publicKey), origin: place.origin, rp_id: place.rp_id }
  return { signer, browser, key, id: made.id }
}

function untouchedAssertion(
  emulators: Emulators,
  {
    says,
    holds,
    settings,
    ...place
  }: Place & { readonly says: string; readonly holds: boolean; readonly settings: object },
): MadeAssertion {
  // A relying party that is a parent of the host is one for the browser, and none for us.
  const { browser, key, id } = newKey(emulators, settings, place)
  const { response } = browser.getJSON(place.origin, {
    rpId: place.rp_id,
    challenge: challengeText(CHALLENGE),
    userVerification: "required",
    allowCredentials: [{ type: "public-key", id }],
  })
  const passkey = {
    ...key,
    authenticator_data: base64Of(response.authenticatorData),
    client_data_json: base64Of(response.clientDataJSON),
    signature: encodeBase64(toLowS(bytesOf(response.signature ?? ""))),
  }
  return { says, holds, challenge: CHALLENGE, passkey }
}
