/** Rekor's API v2, as much as a client of hashedrekord 0.0.2 entries needs (sigstore/rekor-tiles, CLIENTS.md and openapi). */
import {
  canonicalize,
  decodeBase64,
  decodeDecimal,
  decodeHex,
  encodeBase64,
  type JsonObject,
  readStrictJson,
  utf8Encode,
} from "@runseal/canonical"
import * as v from "valibot"
import { isStrictDerSignature, toLowS } from "../keys/ecdsa-der.ts"
import { keyHintOf, parseCheckpoint, parseTiledCheckpoint } from "../notes/checkpoint.ts"
import { formatNote, type NoteSignature, noteSignatureLine, parseNote } from "../notes/signed-note.ts"
import { P256_KEY_DETAILS } from "../trust/trusted-keys.ts"
import { MAX_PROOF_HASHES, parseEntryBody, type TiledLogEntry, tiledLogEntrySchema } from "./log-entry.ts"

/** The paths at which entries are created, and at which checkpoint and tiles are read, below the address of a Rekor v2 log. */
export const REKOR_V2_ENTRIES = "api/v2/log/entries"
export const REKOR_V2_READ = "api/v2/"

/** `kindVersion` of its entries; their bodies say the same. */
export const TILED_ENTRY_KIND: { readonly kind: "hashedrekord"; readonly version: "0.0.2" } = {
  kind: "hashedrekord",
  version: "0.0.2",
}

/** What both versions of a body contain, in the encoding of the second. */
interface BodyMembers {
  readonly digest: string
  readonly signature: JsonObject & { readonly content: string }
}

/** The members of the body of one of our entries; undefined for a body without a key. */
function membersOf(body: Uint8Array): BodyMembers | undefined {
  const { digestHex, signatureDer, spkiDer } = parseEntryBody(body) ?? {}
  const digest = digestHex === undefined ? undefined : decodeHex(digestHex)
  if (digest === undefined || signatureDer === undefined || spkiDer === undefined) return undefined
  const verifier = { keyDetails: P256_KEY_DETAILS, publicKey: { rawBytes: encodeBase64(spkiDer) } }
  return { digest: encodeBase64(digest), signature: { content: encodeBase64(signatureDer), verifier } }
}

/**
 * The request for a new entry, JSON text.
 * @param body of the same entry in the service's own log, hashedrekord 0.0.1
 * @returns undefined when that is no such body with a key
 */
export function rekorV2Request(body: Uint8Array): string | undefined {
  const members = membersOf(body)
  return members && canonicalize({ hashedRekordRequestV002: { digest: members.digest, signature: members.signature } })
}

/** The body of the Rekor v2 entry for one of our entries, RFC 8785: same digest, same signature, same key. Undefined as above. */
export function tiledBody(body: Uint8Array): Uint8Array | undefined {
  const members = membersOf(body)
  if (members === undefined) return undefined
  const data = { algorithm: "SHA2_256", digest: members.digest }
  const { kind, version } = TILED_ENTRY_KIND
  const spec = { hashedRekordV002: { data, signature: members.signature } }
  return utf8Encode(canonicalize({ apiVersion: version, kind, spec }))
}

/** The service's signature in the body of one of our entries, over which a timestamp is made. Undefined for any other body. */
export const signatureIn = (body: Uint8Array): Uint8Array | undefined => parseEntryBody(body)?.signatureDer

/** An int64 of protobuf-JSON, which servers may also write as a number. */
const count = v.pipe(
  v.optional(v.nullable(v.union([v.string(), v.pipe(v.number(), v.safeInteger())])), "0"),
  v.transform(value => `${value ?? 0}`),
)
const optional = <T>(schema: v.GenericSchema<unknown, T>) => v.optional(v.nullable(schema))

// Loose on purpose: absent fields are zero, and later versions may bring others.
const answerSchema = v.object({
  logIndex: count,
  logId: v.object({ keyId: v.string() }),
  kindVersion: v.object({ kind: v.string(), version: v.string() }),
  inclusionProof: v.object({
    logIndex: count,
    rootHash: v.string(),
    treeSize: count,
    hashes: optional(v.pipe(v.array(v.string()), v.maxLength(MAX_PROOF_HASHES))),
    checkpoint: v.object({ envelope: v.string() }),
  }),
  canonicalizedBody: v.string(),
})

/**
 * Reads the answer of a Rekor v2 log to a new entry: a TransparencyLogEntry. Of the checkpoint's signatures only the log's own is
 * retained, in low-S form if it is ECDSA; readers know no keys of its witnesses. Nothing is verified. Undefined for anything else.
 * Never throws.
 */
export function parseRekorV2Answer(bytes: Uint8Array): TiledLogEntry | undefined {
  const parsed = v.safeParse(answerSchema, readStrictJson(bytes), { abortEarly: true })
  if (!parsed.success) return undefined
  const { logIndex, logId, kindVersion, inclusionProof, canonicalizedBody } = parsed.output
  const envelope = ownCheckpoint(inclusionProof.checkpoint.envelope, logId.keyId)
  if (envelope === undefined) return undefined
  const { rootHash, treeSize, hashes } = inclusionProof
  const entry = {
    logIndex,
    logId: { keyId: logId.keyId },
    kindVersion: { kind: kindVersion.kind, version: kindVersion.version },
    inclusionProof: {
      logIndex: inclusionProof.logIndex,
      rootHash,
      treeSize,
      hashes: [...(hashes ?? [])],
      checkpoint: { envelope },
    },
    canonicalizedBody,
  }
  return v.is(tiledLogEntrySchema, entry) ? entry : undefined
}

/** The parts of an entry that the log contained already. */
export interface HeldEntry {
  readonly logId: Uint8Array
  readonly index: number
  readonly body: Uint8Array
  readonly hashes: readonly Uint8Array[]
  /** The signed checkpoint, as the log publishes it. */
  readonly checkpoint: string
}

/** The entry that a log's checkpoint and tiles show, in the shape of the log's own answer. Unchecked; undefined as above. */
export function heldEntry({ logId, index, body, hashes, checkpoint }: HeldEntry): TiledLogEntry | undefined {
  const keyId = encodeBase64(logId)
  const envelope = ownCheckpoint(checkpoint, keyId)
  const head = envelope === undefined ? undefined : parseTiledCheckpoint(envelope)
  if (envelope === undefined || head === undefined) return undefined
  return {
    logIndex: `${index}`,
    logId: { keyId },
    kindVersion: { ...TILED_ENTRY_KIND },
    inclusionProof: {
      logIndex: `${index}`,
      rootHash: encodeBase64(head.root),
      treeSize: `${head.size}`,
      hashes: hashes.map(encodeBase64),
      checkpoint: { envelope },
    },
    canonicalizedBody: encodeBase64(body),
  }
}

/** The tree size of a published checkpoint; undefined for any other text. */
export function sizeOfCheckpoint(checkpoint: string): number | undefined {
  const note = parseNote(checkpoint)
  return note && parseCheckpoint(note.text)?.size
}

const refusalSchema = v.object({ message: v.string() })

/** The index that a log names when it refuses a duplicate entry (409); undefined when it names none. Never throws. */
export function indexOfDuplicate(bytes: Uint8Array): number | undefined {
  const parsed = v.safeParse(refusalSchema, readStrictJson(bytes))
  const [, digits] = (parsed.success && /\bindex (\d{1,16})$/.exec(parsed.output.message)) || []
  const index = digits === undefined ? undefined : decodeDecimal(digits)
  return index !== undefined && index <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(index) : undefined
}

/** A checkpoint with the log's own signature alone; undefined for any other text. */
function ownCheckpoint(envelope: string, keyId: string): string | undefined {
  const note = parseNote(envelope)
  const checkpoint = note && parseCheckpoint(note.text)
  const logId = decodeBase64(keyId)
  if (note === undefined || checkpoint === undefined || logId === undefined) return undefined
  const hint = keyHintOf(logId)
  const own = note.signatures.find(({ name, keyId: id }) => name === checkpoint.origin && id === hint)
  return own && formatNote(note.text, [noteSignatureLine(lowS(own))])
}

const ED25519_SIGNATURE_BYTES = 64

/** An Ed25519 signature has one form. An ECDSA signature has two, and practically always 70 to 72 bytes. */
const lowS = (line: NoteSignature): NoteSignature =>
  line.signature.length !== ED25519_SIGNATURE_BYTES && isStrictDerSignature(line.signature)
    ? { ...line, signature: toLowS(line.signature) }
    : line
