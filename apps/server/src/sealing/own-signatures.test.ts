/** A fresh signature is compared with what its signer returned; ECDSA is run for a sample at once and for all others soon. Decision 0155. */
import { encodeBase64, sha256Hex, utf8Encode } from "@runseal/canonical"
import { toLowS } from "@runseal/log/keys/ecdsa-der"
import { describe, expect, test } from "vitest"
import { newEcdsaKey } from "../keys/ecdsa-keys.ts"
import {
  LATER_MAX_SIGNATURES,
  type OwnSignatures,
  openOwnSignatures,
  type SigningRole,
  type WrongSignature,
} from "./own-signatures.ts"

const keys = { service: newEcdsaKey(), log: newEcdsaKey() }
const message = (text: string): Uint8Array => utf8Encode(text)

function opened(serviceIsVerified = false) {
  const wrong: WrongSignature[] = []
  const own = openOwnSignatures(
    { service: keys.service.spki, log: keys.log.spki, serviceIsVerified },
    found => void wrong.push(found),
  )
  return { own, wrong }
}

/** A signer that makes a mistake signs another text. */
function made(own: OwnSignatures, role: SigningRole, text: string, mistaken = false): Uint8Array {
  const signature = toLowS(keys[role].sign(message(mistaken ? `not ${text}` : text)))
  own.learn([{ role, message: sha256Hex(message(text)), signature: encodeBase64(signature) }])
  return signature
}

const verifyAll = (own: OwnSignatures): number => {
  let count = 0
  while (own.verifyOne()) count++
  return count
}

describe("a signature that was just made", () => {
  test("is accepted as the signer returned it, and ECDSA is run for it once, later", () => {
    const { own, wrong } = opened()
    const text = own.ofText()
    for (const role of ["service", "log"] as const)
      expect(text.verifySignature(keys[role].spki, message("a"), made(own, role, "a"))).toBe(true)
    expect(text.accept(false)).toBe(true)
    expect(verifyAll(own)).toBe(2)
    expect(verifyAll(own)).toBe(0)
    expect(wrong).toEqual([])
  })

  test("is refused with other bytes, even if these verify too", () => {
    const { own } = opened()
    made(own, "log", "a")
    const another = toLowS(keys.log.sign(message("a")))
    expect(own.ofText().verifySignature(keys.log.spki, message("a"), another)).toBe(false)
  })

  test("is refused over another message and under another key", () => {
    const { own } = opened()
    const signature = made(own, "log", "a")
    made(own, "log", "b")
    expect(own.ofText().verifySignature(keys.log.spki, message("b"), signature)).toBe(false)
    expect(own.ofText().verifySignature(keys.log.spki, message("c"), signature)).toBe(false)
    expect(own.ofText().verifySignature(keys.service.spki, message("a"), signature)).toBe(false)
  })

  test("that is wrong is found later, and named by its key and message", () => {
    const { own, wrong } = opened()
    const text = own.ofText()
    expect(text.verifySignature(keys.service.spki, message("a"), made(own, "service", "a", true))).toBe(true)
    expect(text.accept(false)).toBe(true)
    verifyAll(own)
    expect(wrong).toEqual([{ role: "service", message: sha256Hex(message("a")) }])
  })

  test("that is wrong is refused at once in a text that is the sample", () => {
    const { own, wrong } = opened()
    const text = own.ofText()
    text.verifySignature(keys.service.spki, message("a"), made(own, "service", "a"))
    text.verifySignature(keys.log.spki, message("a"), made(own, "log", "a", true))
    expect(text.accept(true)).toBe(false)
    expect(verifyAll(own)).toBe(0)
    expect(wrong).toEqual([])
  })

  test("of the sample is not verified again: one of each key", () => {
    const { own } = opened()
    const text = own.ofText()
    for (const role of ["service", "log"] as const)
      for (const one of ["a", "b", "c"]) text.verifySignature(keys[role].spki, message(one), made(own, role, one))
    expect(text.accept(true)).toBe(true)
    expect(verifyAll(own)).toBe(4)
  })

  test("of a text that was refused is not verified later", () => {
    const { own } = opened()
    own.ofText().verifySignature(keys.log.spki, message("a"), made(own, "log", "a"))
    expect(verifyAll(own)).toBe(0)
  })

  test("of a remote signer, which was verified when it came, is not verified again", () => {
    const { own } = opened(true)
    const text = own.ofText()
    text.verifySignature(keys.service.spki, message("a"), made(own, "service", "a"))
    text.accept(false)
    expect(verifyAll(own)).toBe(0)
  })
})

test("a signature that nobody knows here is verified at once", () => {
  const { own } = opened()
  const signature = toLowS(newEcdsaKey().sign(message("a")))
  expect(own.ofText().verifySignature(keys.log.spki, message("a"), toLowS(keys.log.sign(message("a"))))).toBe(true)
  expect(own.ofText().verifySignature(keys.log.spki, message("a"), signature)).toBe(false)
})

test("with a full queue ECDSA is run before the answer", () => {
  const { own } = opened()
  const signature = made(own, "log", "a")
  const text = own.ofText()
  for (let i = 0; i < LATER_MAX_SIGNATURES; i++) text.verifySignature(keys.log.spki, message("a"), signature)
  text.accept(false)
  const wrong = made(own, "log", "b", true)
  expect(own.ofText().verifySignature(keys.log.spki, message("b"), wrong)).toBe(false)
  own.verifyOne()
  expect(own.ofText().verifySignature(keys.log.spki, message("b"), wrong)).toBe(true)
})
