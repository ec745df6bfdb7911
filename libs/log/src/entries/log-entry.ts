import {
  BASE64_PATTERN,
  canonicalize,
  type DeepReadonly,
  decodeBase64,
  decodeSafeDecimal,
  encodeBase64,
  encodeHex,
  isSha256Hex,
  type JsonValue,
  parseStrictJson,
  utf8Decode,
  utf8Encode,
} from "@runseal/canonical"
import * as v from "valibot"
import { pemToSpki, spkiToPem } from "../keys/spki.ts"
import { HASH_BYTES } from "../merkle/rfc6962.ts"

/** Profile A: a `hashedrekord` 0.0.1 entry of a Rekor v1 log, the one shape every Sigstore tool accepts. */

/** `kindVersion` of the entry; its body says the same. */
export const ENTRY_KIND: { readonly kind: "hashedrekord"; readonly version: "0.0.1" } = {
  kind: "hashedrekord",
  version: "0.0.1",
}

/** A tree of 2^63 leaves, more than any log has, needs this many. */
export const MAX_PROOF_HASHES = 63
/** A profile-A body takes 600 bytes; one of public Rekor with a certificate chain some thousand. */
const MAX_BODY_BYTES = 12_288
/** Longest DER signature of a P-256 key. */
export const MAX_SIGNATURE_BYTES = 72
const MAX_CHECKPOINT_LENGTH = 4096
const MAX_KIND_LENGTH = 64

/** What a body commits to. */
export interface EntryBodyParts {
  /** SHA-256 of the signed bytes, lowercase hex. */
  readonly digestHex: string
  /** ECDSA signature over those bytes, DER. */
  readonly signatureDer: Uint8Array
  /** Key that verifies it, SubjectPublicKeyInfo in DER. */
  readonly spkiDer: Uint8Array
}

/** A body as read from an entry: not yet compared with anything. */
export interface EntryBody {
  readonly apiVersion: string
  readonly kind: string
  /** Whether the bytes are the RFC 8785 form of what they say. */
  readonly canonical: boolean
  readonly digestHex: string
  readonly signatureDer: Uint8Array
  /** Absent when the body carries something else than a PEM public key as Node writes it, such as a certificate. */
  readonly spkiDer?: Uint8Array
}

/** What the log signs as the entry's promise. */
export interface EntryTimestamp {
  /** The entry body in base64. */
  readonly body: string
  /** Unix seconds. */
  readonly integratedTime: number
  /** SHA-256 of the log key's SPKI, 32 bytes. */
  readonly logId: Uint8Array
  readonly logIndex: number
}

/** The parts an entry is put together from. */
export interface EntryParts {
  /** Position in the log; in a sharded log it may differ from `proof.index`. */
  readonly logIndex: number
  readonly logId: Uint8Array
  /** Unix seconds. */
  readonly integratedTime: number
  /** Canonical body text, as `entryBody` writes it. */
  readonly body: string
  /** DER signature over `signedEntryTimestampPayload`. */
  readonly signedEntryTimestamp: Uint8Array
  readonly proof: {
    /** Position in the tree. */
    readonly index: number
    readonly size: number
    readonly root: Uint8Array
    readonly hashes: readonly Uint8Array[]
    /** The signed checkpoint of that size and root. */
    readonly checkpoint: string
  }
}

/**
 * The canonical body (RFC 8785) of a profile-A entry; its UTF-8 bytes are the Merkle leaf. Written without a JSON serialiser:
 * base64 and hex need no escape.
 */
export function entryBody({ digestHex, signatureDer, spkiDer }: EntryBodyParts): string {
  const signature = encodeBase64(signatureDer)
  const key = encodeBase64(utf8Encode(spkiToPem(spkiDer)))
  return `{"apiVersion":"0.0.1","kind":"hashedrekord","spec":{"data":{"hash":{"algorithm":"sha256","value":"${digestHex}"}},"signature":{"content":"${signature}","publicKey":{"content":"${key}"}}}}`
}

const bodySchema = v.strictObject({
  apiVersion: v.string(),
  kind: v.string(),
  spec: v.strictObject({
    data: v.strictObject({ hash: v.strictObject({ algorithm: v.literal("sha256"), value: v.string() }) }),
    signature: v.strictObject({ content: v.string(), publicKey: v.strictObject({ content: v.string() }) }),
  }),
})

/** A body as `entryBody` writes it, character for character, with its three values. */
const WRITTEN_BODY =
  /^\{"apiVersion":"0\.0\.1","kind":"hashedrekord","spec":\{"data":\{"hash":\{"algorithm":"sha256","value":"([0-9a-f]{64})"\}\},"signature":\{"content":"([A-Za-z0-9+/=]*)","publicKey":\{"content":"([A-Za-z0-9+/=]*)"\}\}\}\}$/

/** The members of a body, before base64 and PEM are decoded. */
interface WrittenBody extends Pick<EntryBody, "apiVersion" | "kind" | "canonical" | "digestHex"> {
  readonly signature: string
  readonly publicKey: string
}

/** Reads a body of the hashedrekord shape; undefined for anything else. Never throws. */
export function parseEntryBody(bytes: Uint8Array): EntryBody | undefined {
  const text = utf8Decode(bytes)
  const written = text === undefined ? undefined : (ownBody(text) ?? anyBody(text))
  if (written === undefined || !isSha256Hex(written.digestHex)) return undefined
  const { signature, publicKey, ...rest } = written
  const signatureDer = decodeBase64(signature)
  const key = decodeKey(publicKey)
  if (signatureDer === undefined || key === undefined) return undefined
  return { ...rest, signatureDer, ...key }
}

/** A body in our own spelling is canonical already; only other spellings need a JSON parser. */
function ownBody(text: string): WrittenBody | undefined {
  const [, digestHex, signature, publicKey] = WRITTEN_BODY.exec(text) ?? []
  if (digestHex === undefined || signature === undefined || publicKey === undefined) return undefined
  return { apiVersion: ENTRY_KIND.version, kind: ENTRY_KIND.kind, canonical: true, digestHex, signature, publicKey }
}

function anyBody(text: string): WrittenBody | undefined {
  const value = parseJson(text)
  const parsed = v.safeParse(bodySchema, value)
  if (value === undefined || !parsed.success) return undefined
  const { apiVersion, kind, spec } = parsed.output
  return {
    apiVersion,
    kind,
    canonical: canonicalize(value) === text,
    digestHex: spec.data.hash.value,
    signature: spec.signature.content,
    publicKey: spec.signature.publicKey.content,
  }
}

/** Cache of decoded keys by their whole spelling: the entries of a service repeat the same few. */
const MAX_DECODED_KEYS = 64
/** Longest spelling that is cached; a P-256 key takes 240 characters. */
const MAX_CACHED_KEY_LENGTH = 512
const decodedKeys = new Map<string, Pick<EntryBody, "spkiDer">>()

/** The key behind the base64 of a PEM text, if it is one; undefined for what is no base64. */
function decodeKey(base64: string): Pick<EntryBody, "spkiDer"> | undefined {
  const known = decodedKeys.get(base64)
  if (known !== undefined) return known
  const pemBytes = decodeBase64(base64)
  if (pemBytes === undefined) return undefined
  const pem = utf8Decode(pemBytes)
  const spkiDer = pem === undefined ? undefined : pemToSpki(pem)
  const key = spkiDer === undefined ? {} : { spkiDer }
  const [oldest] = decodedKeys.keys()
  if (oldest !== undefined && decodedKeys.size >= MAX_DECODED_KEYS) decodedKeys.delete(oldest)
  if (base64.length <= MAX_CACHED_KEY_LENGTH) decodedKeys.set(base64, key)
  return key
}

/**
 * The RFC 8785 text that the log signs for the signed entry timestamp (SET); its UTF-8 bytes are the message. Written without a JSON
 * serialiser: base64, hex and integers need no escape.
 */
export const signedEntryTimestampPayload = ({ body, integratedTime, logId, logIndex }: EntryTimestamp): string =>
  `{"body":"${body}","integratedTime":${integratedTime},"logID":"${encodeHex(logId)}","logIndex":${logIndex}}`

/** The entry in protobuf-JSON, in the field order of the Sigstore protobuf specification. */
export function assembleEntry(parts: EntryParts): TransparencyLogEntry {
  const { logIndex, logId, integratedTime, body, signedEntryTimestamp, proof } = parts
  return {
    logIndex: `${logIndex}`,
    logId: { keyId: encodeBase64(logId) },
    kindVersion: { ...ENTRY_KIND },
    integratedTime: `${integratedTime}`,
    inclusionPromise: { signedEntryTimestamp: encodeBase64(signedEntryTimestamp) },
    inclusionProof: {
      logIndex: `${proof.index}`,
      rootHash: encodeBase64(proof.root),
      treeSize: `${proof.size}`,
      hashes: proof.hashes.map(encodeBase64),
      checkpoint: { envelope: proof.checkpoint },
    },
    canonicalizedBody: encodeBase64(utf8Encode(body)),
  }
}

/** Characters of the base64 of so many bytes, with padding. */
const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4

/** Base64, padded, in its one spelling, of so many bytes. */
export function base64Schema(minBytes: number, maxBytes: number): v.GenericSchema<unknown, string> {
  const rule = `base64 of ${minBytes === maxBytes ? minBytes : `${minBytes} to ${maxBytes}`} bytes`
  return v.pipe(
    v.string(),
    v.check(text => {
      // The length first: a text that is too long is not decoded.
      const bytes = text.length <= base64Length(maxBytes) ? decodeBase64(text) : undefined
      return bytes !== undefined && bytes.length >= minBytes && bytes.length <= maxBytes
    }, `must be ${rule}`),
    v.metadata({
      pattern: BASE64_PATTERN.source,
      minLength: base64Length(minBytes),
      maxLength: base64Length(maxBytes),
      description: `${rule[0]?.toUpperCase()}${rule.slice(1)}.`,
    }),
  )
}

const decimalSchema = v.pipe(
  v.string(),
  v.check(text => decodeSafeDecimal(text) !== undefined, "must be a decimal string of at most 2^53-1"),
  v.metadata({ pattern: "^(0|[1-9][0-9]{0,15})$", description: "Unsigned decimal of at most 2^53 − 1." }),
)
const kindTextSchema = v.pipe(v.string(), v.maxLength(MAX_KIND_LENGTH))
const hashSchema = base64Schema(HASH_BYTES, HASH_BYTES)
const proofSchema = v.strictObject({
  logIndex: decimalSchema,
  rootHash: hashSchema,
  treeSize: decimalSchema,
  hashes: v.pipe(v.array(hashSchema), v.maxLength(MAX_PROOF_HASHES)),
  checkpoint: v.strictObject({ envelope: v.pipe(v.string(), v.maxLength(MAX_CHECKPOINT_LENGTH)) }),
})

const entryShape = v.strictObject({
  logIndex: decimalSchema,
  logId: v.strictObject({ keyId: hashSchema }),
  kindVersion: v.strictObject({ kind: kindTextSchema, version: kindTextSchema }),
  /** Unix seconds. */
  integratedTime: decimalSchema,
  inclusionPromise: v.strictObject({ signedEntryTimestamp: base64Schema(1, MAX_SIGNATURE_BYTES) }),
  inclusionProof: proofSchema,
  canonicalizedBody: base64Schema(1, MAX_BODY_BYTES),
})
/** Protobuf-JSON `dev.sigstore.rekor.v1.TransparencyLogEntry`. int64 values are decimal strings of at most 2^53−1, bytes base64. */
export type TransparencyLogEntry = DeepReadonly<v.InferOutput<typeof entryShape>>
/** Origin of the tree that the checkpoint of an entry names; whether it is signed is for `checkEntry`. */
export const checkpointOrigin = ({ inclusionProof }: Pick<TransparencyLogEntry, "inclusionProof">): string =>
  inclusionProof.checkpoint.envelope.split("\n", 1)[0] ?? ""

/** The shape of an entry: no unknown fields, one spelling for every value, every size bounded. What it says is for `checkEntry`. */
export const transparencyLogEntrySchema: v.GenericSchema<unknown, TransparencyLogEntry> = entryShape

const tiledEntryShape = v.omit(entryShape, ["integratedTime", "inclusionPromise"])
/**
 * An entry of a Rekor v2 log, the same message without promise and time: such a log signs neither. Absent fields are zero in
 * protobuf-JSON, and they are left out here.
 */
export type TiledLogEntry = DeepReadonly<v.InferOutput<typeof tiledEntryShape>>
/** The same of an entry of a Rekor v2 log. What it says is for `tiledEntryProblem`. */
export const tiledLogEntrySchema: v.GenericSchema<unknown, TiledLogEntry> = tiledEntryShape

function parseJson(text: string): JsonValue | undefined {
  try {
    return parseStrictJson(text)
  } catch {
    return undefined
  }
}
