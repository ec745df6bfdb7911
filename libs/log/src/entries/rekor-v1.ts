import { decodeBase64, decodeHex, readStrictJson, utf8Decode } from "@runseal/canonical"
import * as v from "valibot"
import { isStrictDerSignature, toLowS } from "../keys/ecdsa-der.ts"
import { parseEntryCheckpoint } from "../notes/checkpoint.ts"
import { formatNote, noteSignatureLine } from "../notes/signed-note.ts"
import {
  assembleEntry,
  MAX_PROOF_HASHES,
  parseEntryBody,
  type TransparencyLogEntry,
  transparencyLogEntrySchema,
} from "./log-entry.ts"

/** Rekor's API v1, as much as a client of hashedrekord 0.0.1 entries needs (sigstore/rekor, openapi.yaml). */

/** The path at which entries are created, below the address of a Rekor log. */
export const REKOR_V1_ENTRIES = "api/v1/log/entries"

/** An entry's id there: the leaf hash, 64 hex digits, after its tree id, 16; older logs leave the tree id out. */
export const isRekorUuid = (text: string): boolean => /^(?:[0-9a-f]{16})?[0-9a-f]{64}$/.test(text)

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const bytesOfHex = v.pipe(v.string(), v.transform(decodeHex), v.instance(Uint8Array))
const bytesOfBase64 = v.pipe(v.string(), v.transform(decodeBase64), v.instance(Uint8Array))

// Loose on purpose: a Rekor log may add an attestation and whatever later versions bring.
const answerSchema = v.object({
  body: bytesOfBase64,
  integratedTime: count,
  logID: bytesOfHex,
  logIndex: count,
  verification: v.object({
    inclusionProof: v.object({
      checkpoint: v.string(),
      hashes: v.pipe(v.array(bytesOfHex), v.maxLength(MAX_PROOF_HASHES)),
      logIndex: count,
      rootHash: bytesOfHex,
      treeSize: count,
    }),
    signedEntryTimestamp: bytesOfBase64,
  }),
})

/**
 * Reads the answer of a Rekor log to a new entry (201) and to one that is fetched (200): a map of one entry. Its signatures are
 * normalised to their low-S form, which is as valid, so that the entry has one spelling. Nothing is verified. Undefined for anything
 * else. Never throws.
 */
export function parseRekorAnswer(bytes: Uint8Array): TransparencyLogEntry | undefined {
  const [row, ...more] = Object.entries(readStrictJson(bytes) ?? {})
  if (row === undefined || more.length > 0 || !isRekorUuid(row[0])) return undefined
  const parsed = v.safeParse(answerSchema, row[1], { abortEarly: true })
  if (!parsed.success) return undefined
  const { body, integratedTime, logID, logIndex, verification } = parsed.output
  const { inclusionProof, signedEntryTimestamp } = verification
  const text = utf8Decode(body)
  const checkpoint = withLowS(inclusionProof.checkpoint)
  if (text === undefined || parseEntryBody(body) === undefined) return undefined
  if (checkpoint === undefined || !isStrictDerSignature(signedEntryTimestamp)) return undefined
  const entry = assembleEntry({
    logIndex,
    logId: logID,
    integratedTime,
    body: text,
    signedEntryTimestamp: toLowS(signedEntryTimestamp),
    proof: {
      index: inclusionProof.logIndex,
      size: inclusionProof.treeSize,
      root: inclusionProof.rootHash,
      hashes: inclusionProof.hashes,
      checkpoint,
    },
  })
  return v.is(transparencyLogEntrySchema, entry) ? entry : undefined
}

/** A checkpoint of an entry with its signature in the low-S form; undefined for any other text. */
function withLowS(envelope: string): string | undefined {
  const checkpoint = parseEntryCheckpoint(envelope)
  if (checkpoint === undefined || !isStrictDerSignature(checkpoint.signature)) return undefined
  const { host, keyHint, signature, signedText } = checkpoint
  return formatNote(signedText, [noteSignatureLine({ name: host, keyId: keyHint, signature: toLowS(signature) })])
}
