/** Small decoders: whatever one accepts, its encoder writes the same again; whatever it refuses, the platform spells otherwise. */
import {
  BASE64_PATTERN,
  decodeBase64,
  decodeDecimal,
  decodeHex,
  encodeBase64,
  encodeHex,
  equalBytes,
  parseStrictJson,
} from "@runseal/canonical"
import { member } from "@runseal/core/vocabulary/json-members"
import { ENTRY_KIND, entryBody, parseEntryBody } from "@runseal/log/entries/log-entry"
import {
  formatEcdsaSignature,
  isLowS,
  isStrictDerSignature,
  parseEcdsaSignature,
  toLowS,
} from "@runseal/log/keys/ecdsa-der"
import { parseP256Spki, pemToSpki, spkiToPem } from "@runseal/log/keys/spki"
import { decodeEntryBundle, encodeEntryBundle } from "@runseal/log/merkle/entry-bundle"
import { parseTilePath, tilePath } from "@runseal/log/merkle/tiles"
import { validDocuments } from "../authentic.ts"
import { bytesOf, type FuzzTarget, promise, seedsOf, textOf } from "../fuzz-target.ts"

/** Bodies of log entries, as bytes. */
const bodies = (): readonly Uint8Array[] =>
  validDocuments().flatMap(bytes => {
    const anchors = member(parseStrictJson(bytes), "anchors")
    const text = member(member(member(anchors, "complete_record"), "entry"), "canonicalizedBody")
    return typeof text === "string" ? [decodeBase64(text) ?? new Uint8Array()] : []
  })

export const scalars: FuzzTarget = {
  name: "scalars",
  seeds: () =>
    seedsOf("", "AA==", "AAE=", "AAEC", "q83vASNFZ4k=", "00ff", "deadbeef", "0", "9223372036854775807", "123"),
  run: input => {
    const text = textOf(input)
    const base64 = decodeBase64(text)
    const platform = Buffer.from(text, "base64")
    promise(
      (base64 !== undefined) === (platform.toString("base64") === text),
      "base64 in another spelling is taken, or ours refused",
    )
    if (base64 !== undefined)
      promise(equalBytes(base64, platform) && encodeBase64(base64) === text, "base64 decodes to other bytes")
    promise(
      BASE64_PATTERN.test(text) === (base64 !== undefined),
      "the published pattern of base64 is another than the decoder's",
    )
    const hex = decodeHex(text)
    if (hex !== undefined) promise(encodeHex(hex) === text, "hex decodes to other bytes")
    promise(
      (hex !== undefined) === /^(?:[0-9a-f]{2})*$/.test(text),
      "hex in another spelling is taken, or ours refused",
    )
    const decimal = decodeDecimal(text)
    if (decimal !== undefined) promise(`${decimal}` === text, "a decimal in another spelling is taken")
  },
}

export const entryBodies: FuzzTarget = {
  name: "entry-body",
  json: true,
  seeds: bodies,
  run: input => {
    const body = parseEntryBody(input)
    if (body?.canonical !== true || body.spkiDer === undefined) return
    if (body.kind !== ENTRY_KIND.kind || body.apiVersion !== ENTRY_KIND.version) return
    const { digestHex, signatureDer, spkiDer } = body
    promise(
      entryBody({ digestHex, signatureDer, spkiDer }) === textOf(input),
      "a body in another spelling passes for canonical",
    )
  },
}

export const derSignatures: FuzzTarget = {
  name: "ecdsa-der",
  seeds: () => bodies().map(body => parseEntryBody(body)?.signatureDer ?? new Uint8Array()),
  run: input => {
    const signature = parseEcdsaSignature(input)
    promise(isStrictDerSignature(input) === (signature !== undefined), "two readers of DER disagree")
    if (signature === undefined) return promise(!isLowS(input), "what is no signature has a low S")
    promise(equalBytes(formatEcdsaSignature(signature), input), "DER in another spelling is taken")
    promise(isLowS(toLowS(input)), "the low form of a signature is not low")
  },
}

export const publicKeys: FuzzTarget = {
  name: "public-key",
  seeds: () =>
    bodies().flatMap(body => {
      const spki = parseEntryBody(body)?.spkiDer ?? new Uint8Array()
      return [spki, bytesOf(spkiToPem(spki))]
    }),
  words: ["-----BEGIN PUBLIC KEY-----\n", "-----END PUBLIC KEY-----\n"],
  run: input => {
    const text = textOf(input)
    const spki = pemToSpki(text)
    if (spki !== undefined) promise(spkiToPem(spki) === text, "PEM in another spelling is taken")
    const point = parseP256Spki(input)
    if (point !== undefined) promise(input.length === 91 && point.length === 65, "a key of another length is taken")
  },
}

export const tiles: FuzzTarget = {
  name: "tiles",
  seeds: () => [
    ...seedsOf("tile/0/000", "tile/entries/x001/234.p/7", "tile/6/000.p/1"),
    encodeEntryBundle(bodies().slice(0, 2)),
  ],
  words: ["tile/", "entries", "/x001", ".p/", "256", "255"],
  run: input => {
    const text = textOf(input)
    const tile = parseTilePath(text)
    if (tile !== undefined) promise(tilePath(tile) === text, "a path in another spelling is taken")
    for (const count of [0, 1, 2, 256, 257]) {
      const entries = decodeEntryBundle(input, count)
      if (entries === undefined) continue
      promise(
        entries.length === count && equalBytes(encodeEntryBundle(entries), input),
        "a bundle of entries in another form is taken",
      )
    }
  },
}
