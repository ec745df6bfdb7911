/**
 * What a passkey signed, held to an authenticator and to a relying party that others wrote: nid-webauthn-emulator makes assertions, and
 * @simplewebauthn/server judges them beside us. Both are installed into a folder of their own; without a package index the tests are skipped and say so.
 */
import { readFileSync } from "node:fs"
import { decodeBase64, encodeBase64 } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { assertionProblem, challengeText } from "../../../../libs/core/src/verify/assertion.ts"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { EMULATOR, emulatedAssertions, installInto, type MadeAssertion } from "./emulated-assertions.ts"
import { assertionsOtherwise } from "./signed-otherwise.ts"

const RELYING_PARTY = "@simplewebauthn/server@14.0.3"
const COMMITTED = new URL("../../../../libs/core/test/fixtures/assertions.json", import.meta.url)

/** Zeros are no map of CBOR. We read no extension: the signature covers these bytes, and they say nothing. */
const NOT_READ_BY_US = ["extension data up to the bound"]
/** Where it takes what can be read in two ways, is spelt otherwise, or is signed at a page that is none of ours. */
const REFUSED_BY_US_ALONE = [
  "a relying party above its host",
  "a page within another one",
  "crossOrigin that is null",
  "crossOrigin that is 0",
  "crossOrigin that is a text",
  "topOrigin that is null",
  "two challenges, the right one last",
  "another member twice",
  "a byte order mark",
  "U+0000",
  "U+0000 in a name",
  "half a character",
  "a zero with a sign",
  "a number that no double has",
  "an integer beyond the exact ones",
  "67 levels",
  "bytes that are no UTF-8",
  "a relying party above the host",
  "high S",
  // Of a key it is given the point alone.
  "a hybrid point",
  "a curve whose name is as long",
]

type RelyingParty = { readonly verifyAuthenticationResponse: (options: object) => Promise<{ verified: boolean }> }

function install():
  | { readonly relyingParty: RelyingParty; readonly made: readonly MadeAssertion[] }
  | { readonly why: string } {
  try {
    const require = installInto(testFolder("runseal-webauthn"), EMULATOR, RELYING_PARTY)
    return { relyingParty: require("@simplewebauthn/server"), made: emulatedAssertions(require) }
  } catch (error) {
    return { why: `they could not be installed, ${String(error).slice(0, 100)}` }
  }
}

const found = install()
const absent = "why" in found ? ` (not run: ${found.why})` : ""

const urlOf = (base64: string): string => Buffer.from(base64, "base64").toString("base64url")
/** The point of a SubjectPublicKeyInfo as COSE writes an ES256 key: RFC 9053 section 7.1.1. */
function coseOf(spki: string): Uint8Array {
  const point = Buffer.from(spki, "base64").subarray(-64).toString("hex")
  return new Uint8Array(Buffer.from(`a5010203262001215820${point.slice(0, 64)}225820${point.slice(64)}`, "hex"))
}

/** Whether the relying party of others takes it, as strict as it can be. */
async function isTaken(
  { verifyAuthenticationResponse }: RelyingParty,
  { passkey, challenge }: MadeAssertion,
): Promise<boolean> {
  const response = {
    authenticatorData: urlOf(passkey.authenticator_data),
    clientDataJSON: urlOf(passkey.client_data_json),
    signature: urlOf(passkey.signature),
  }
  try {
    const { verified } = await verifyAuthenticationResponse({
      response: { id: "AAAA", rawId: "AAAA", type: "public-key", clientExtensionResults: {}, response },
      expectedChallenge: challengeText(challenge),
      expectedOrigin: passkey.origin,
      expectedRPID: passkey.rp_id,
      credential: { id: "AAAA", publicKey: coseOf(passkey.public_key), counter: 0 },
      requireUserVerification: true,
    })
    return verified
  } catch {
    return false
  }
}

const isOurs = ({ passkey, challenge }: MadeAssertion): boolean => assertionProblem(passkey, challenge) === undefined

/** One bit of each byte of what holds, changed. */
function changedBits(made: MadeAssertion): readonly MadeAssertion[] {
  return (["authenticator_data", "client_data_json", "signature"] as const).flatMap(part => {
    const bytes = decodeBase64(made.passkey[part]) ?? new Uint8Array()
    return [...bytes].map((byte, at) => {
      const other = encodeBase64(bytes.with(at, byte ^ (1 << (at % 8))))
      return { ...made, says: `byte ${at} of ${part}`, holds: false, passkey: { ...made.passkey, [part]: other } }
    })
  })
}

describe.skipIf("why" in found)(`assertions of others, and a relying party of others${absent}`, () => {
  const { relyingParty, made } = "why" in found ? { relyingParty: undefined, made: [] } : found
  const all = [...made, ...assertionsOtherwise()]

  test("each holds or not, as it says", () => {
    for (const each of all) expect(isOurs(each), each.says).toBe(each.holds)
  })

  test("the answers that both verifiers are held to are those that are made here", () => {
    const { emulated, otherwise }: Record<string, readonly MadeAssertion[]> = JSON.parse(
      readFileSync(COMMITTED, "utf8"),
    )
    const facts = [...(emulated ?? []), ...(otherwise ?? [])].map(({ says, holds }) => ({ says, holds }))
    expect(facts).toEqual(all.map(({ says, holds }) => ({ says, holds })))
  })

  test("what the relying party refuses, we refuse", async () => {
    if (relyingParty === undefined) throw new Error("it is not installed")
    const judged: { says: string; ours: boolean; theirs: boolean }[] = []
    for (const each of [...all, ...made.slice(0, 1).flatMap(changedBits)])
      judged.push({ says: each.says, ours: isOurs(each), theirs: await isTaken(relyingParty, each) })
    expect(judged.length).toBeGreaterThan(300)
    const only = (whose: "ours" | "theirs") =>
      judged
        .filter(({ ours, theirs }) => (whose === "ours" ? ours && !theirs : theirs && !ours))
        .map(({ says }) => says)
    expect(only("ours")).toEqual(NOT_READ_BY_US)
    expect(only("theirs")).toEqual(REFUSED_BY_US_ALONE)
  })
})
