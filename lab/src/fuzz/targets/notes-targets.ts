/** Signed notes, checkpoints and cosignatures: nothing unsigned passes, nothing has two spellings. */
import { createPrivateKey, createPublicKey, sign } from "node:crypto"
import { decodeHex, encodeBase64 } from "@runseal/canonical"
import { formatCheckpoint, parseCheckpoint, parseEntryCheckpoint, parseOrigin } from "@runseal/log/notes/checkpoint"
import { cosignatureMessage, encodeCosignature, verifyCosignature } from "@runseal/log/notes/cosignature"
import {
  formatNote,
  formatVkey,
  noteKey,
  noteSignatureLine,
  parseNote,
  parseVkey,
} from "@runseal/log/notes/signed-note"
import { verifyNote } from "@runseal/log/notes/verified-note"
import { bytesOf, type FuzzTarget, promise, seedsOf, textOf } from "../fuzz-target.ts"

/** An Ed25519 key that is worth nothing: RFC 8032 §7.1, test 1. */
const SECRET = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
const secretKey = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), decodeHex(SECRET) ?? new Uint8Array()]),
  format: "der",
  type: "pkcs8",
})
const publicKey = new Uint8Array(createPublicKey(secretKey).export({ type: "spki", format: "der" }).subarray(-32))
const signed = (message: Uint8Array): Uint8Array => new Uint8Array(sign(null, message, secretKey))

const ROOT = encodeBase64(new Uint8Array(32).fill(7))
const TEXTS = [
  `log.example\n7\n${ROOT}\n`,
  `log.example - 1193\n0\n${ROOT}\nextension line\n`,
  "one line\n",
  "two\n\nparts\n",
]
const TIME = 1_767_225_600
const key = noteKey("log.example", "ed25519", publicKey)
const witness = noteKey("witness.example", "cosignature/v1", publicKey)
const cosignatureUnder = (text: string): Uint8Array =>
  encodeCosignature(TIME, signed(cosignatureMessage(witness, TIME, text) ?? new Uint8Array()))
const notes = TEXTS.map(text => {
  const cosignature = cosignatureUnder(text)
  return formatNote(text, [
    noteSignatureLine({ name: key.name, keyId: key.keyId, signature: signed(bytesOf(text)) }),
    noteSignatureLine({ name: witness.name, keyId: witness.keyId, signature: cosignature }),
  ])
})

export const signedNotes: FuzzTarget = {
  name: "signed-note",
  seeds: () => seedsOf(...notes),
  words: ["\n\n— ", "— log.example ", `${key.keyId}`, "\n", `— ${witness.name} `],
  run: input => {
    const text = textOf(input)
    const note = parseNote(text)
    if (note !== undefined)
      promise(
        formatNote(note.text, note.signatures.map(noteSignatureLine)) === text,
        "a note in another spelling is taken",
      )
    const verified = verifyNote(text, [key, witness])
    if (verified === undefined) return
    promise(TEXTS.includes(verified.text), "a text that nobody signed verifies")
    promise(
      verified.signers.every(({ time }) => time === undefined || time === TIME),
      "a witness is given another time",
    )
  },
}

export const checkpoints: FuzzTarget = {
  name: "checkpoint",
  seeds: () => seedsOf(...TEXTS, ...notes),
  run: input => {
    const text = textOf(input)
    const checkpoint = parseCheckpoint(text)
    if (checkpoint !== undefined)
      promise(formatCheckpoint(checkpoint) === text, "a checkpoint in another spelling is taken")
    const inEntry = parseEntryCheckpoint(text)
    if (inEntry !== undefined)
      promise(text.startsWith(`${inEntry.signedText}\n— `), "the signed text is not what stands before the signature")
    const origin = parseOrigin(text)
    if (origin !== undefined)
      promise(`${origin.host} - ${origin.treeId}` === text, "an origin in another spelling is taken")
  },
}

/** 72 bytes of cosignature, then the text. */
export const cosignatures: FuzzTarget = {
  name: "cosignature",
  seeds: () => TEXTS.map(text => Buffer.concat([cosignatureUnder(text), bytesOf(text)])),
  run: input => {
    const text = textOf(input.subarray(72))
    const time = verifyCosignature(witness, text, input.subarray(0, 72))
    if (time !== undefined) promise(time === TIME && TEXTS.includes(text), "a cosignature that nobody made verifies")
  },
}

export const verifierKeys: FuzzTarget = {
  name: "vkey",
  seeds: () =>
    seedsOf(formatVkey(key), formatVkey(witness), formatVkey(noteKey("pq.example", "ml-dsa-44", new Uint8Array(1312)))),
  run: input => {
    const text = textOf(input)
    const parsed = parseVkey(text)
    if (parsed !== undefined) promise(formatVkey(parsed) === text, "a key in another spelling is taken")
  },
}
