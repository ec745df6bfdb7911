import { decodeBase64, decodeDecimal, decodeSafeDecimal, encodeBase64, encodeHex } from "@runseal/canonical"
import { HASH_BYTES } from "../merkle/rfc6962.ts"
import { parseNote } from "./signed-note.ts"

/** The body of a C2SP tlog-checkpoint: the head of one log. */
export interface Checkpoint {
  readonly origin: string
  /** Leaves, at most 2^53−1. */
  readonly size: number
  readonly root: Uint8Array
  /** Lines after the root, none of them empty. */
  readonly extensions: readonly string[]
}

/** `<host> - <decimal tree id>`: the origin of a Rekor v1 log, by which cosign chooses how to read the entry. */
export interface LogOrigin {
  readonly host: string
  readonly treeId: string
}

/** The checkpoint inside a profile-A entry, parsed and unchecked. */
export interface EntryCheckpoint extends Checkpoint {
  readonly host: string
  /** As `keyHintOf` writes it. */
  readonly keyHint: string
  readonly signature: Uint8Array
  /** The bytes that the signature covers: everything before the empty line. */
  readonly signedText: string
}

const KEY_HINT_BYTES = 4

/** How a signature line of a Rekor v1 log names its key: the first 4 bytes of its log id, 8 hex digits. */
export function keyHintOf(logId: Uint8Array): string {
  return encodeHex(logId.subarray(0, KEY_HINT_BYTES))
}

/** The text of a checkpoint, ending in a newline. */
export function formatCheckpoint({ origin, size, root, extensions }: Checkpoint): string {
  return [origin, `${size}`, encodeBase64(root), ...extensions].map(line => `${line}\n`).join("")
}

/** Reads a checkpoint body; undefined for any other text. Never throws. */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  if (!text.endsWith("\n")) return undefined
  const [origin = "", sizeText = "", rootText = "", ...extensions] = text.slice(0, -1).split("\n")
  const size = decodeSafeDecimal(sizeText)
  const root = decodeBase64(rootText)
  if (origin === "" || size === undefined || root?.length !== HASH_BYTES || extensions.includes("")) return undefined
  return { origin, size, root, extensions }
}

/** Parses `<host> - <decimal tree id>`; undefined for any other origin. The host is lowercase and has no port. */
export function parseOrigin(origin: string): LogOrigin | undefined {
  const [, host, treeId] = /^([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?) - ([0-9]{1,19})$/.exec(origin) ?? []
  if (host === undefined || treeId === undefined || decodeDecimal(treeId) === undefined) return undefined
  return { host, treeId }
}

/**
 * Origin line of the public checkpoint of a log, and name of the keys that sign it: host and tree id as an address without scheme.
 * C2SP tlog-checkpoint allows no space in it; tlog-policy requires one name for both.
 * @param origin that of the checkpoints inside entries. Throws RangeError for one of another form
 */
export function publicOrigin(origin: string): string {
  const parsed = parseOrigin(origin)
  if (parsed === undefined) throw new RangeError("A log origin is a host name and a decimal tree id joined by ' - '.")
  return `${parsed.host}/${parsed.treeId}`
}

/** A host name as origin, lowercase and without port: that of a Rekor v2 log, which has one tree. */
const HOST_ORIGIN = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/

/**
 * Reads the checkpoint inside an entry of a Rekor v2 log: as that of a v1 entry, but its origin is the host name alone. Undefined
 * for anything else. Never throws.
 */
export function parseTiledCheckpoint(envelope: string): EntryCheckpoint | undefined {
  return checkpointNamed(envelope, origin => (HOST_ORIGIN.test(origin) ? origin : undefined))
}

/**
 * Reads the checkpoint inside an entry, which the Go tools accept only with the log's signature alone: no extension lines,
 * one signature line, named after the host of the origin. Undefined for anything else. Never throws.
 */
export function parseEntryCheckpoint(envelope: string): EntryCheckpoint | undefined {
  return checkpointNamed(envelope, origin => parseOrigin(origin)?.host)
}

function checkpointNamed(
  envelope: string,
  hostOf: (origin: string) => string | undefined,
): EntryCheckpoint | undefined {
  const note = parseNote(envelope)
  const checkpoint = note === undefined ? undefined : parseCheckpoint(note.text)
  const host = checkpoint === undefined ? undefined : hostOf(checkpoint.origin)
  if (note === undefined || checkpoint === undefined || host === undefined) return undefined
  const [line, ...more] = note.signatures
  if (line === undefined || more.length > 0 || checkpoint.extensions.length > 0 || line.name !== host) return undefined
  return { ...checkpoint, host, keyHint: line.keyId, signature: line.signature, signedText: note.text }
}
