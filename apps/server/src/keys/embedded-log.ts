/**
 * The embedded transparency log: it makes log entries (profile A) of leaves, each with proof, checkpoint and timestamp.
 * It signs every leaf that it gets. The sealer's transaction guarantees that a signed leaf is also in the stored log.
 */
import { encodeBase64, sha256Hex, utf8Encode } from "@runseal/canonical"
import type { Anchor, Leaf } from "@runseal/core/artifacts/anchor"
import { leafBytes } from "@runseal/core/formulas/leaves"
import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { assembleEntry, entryBody } from "@runseal/log/entries/log-entry"
import { signedCheckpoint, signedEntryTimestamp, signedNote } from "@runseal/log/entries/log-signing"
import { formatCheckpoint } from "@runseal/log/notes/checkpoint"
import { checkpointNoteKey, type SigningKeys, signOne } from "./ecdsa-keys.ts"
import type { LogBuilder } from "./log-builder.ts"

export type LogIdentity = {
  readonly keys: Pick<SigningKeys, "service" | "log">
  /** `<host> - <decimal tree id>`. */
  readonly origin: string
}

/** A leaf that was signed by the service and appended, with its index in the log. */
export type AppendedLeaf<L extends Leaf = Leaf> = { readonly leaf: L; readonly body: string; readonly index: number }

/** A leaf and its bytes, which the service key signs. */
export type WrittenLeaf<L extends Leaf = Leaf> = { readonly leaf: L; readonly bytes: Uint8Array }

export type SignedLeaf<L extends Leaf = Leaf> = WrittenLeaf<L> & { readonly signature: Uint8Array }

/** Signs leaves with the service key, in their order. Rejects with SignerFailure. */
export async function signLeaves(
  { keys: { service } }: LogIdentity,
  leaves: readonly WrittenLeaf[],
): Promise<readonly SignedLeaf[]> {
  const signatures = await service.signAll(leaves.map(({ bytes }) => bytes))
  return leaves.map((written, at) => {
    const signature = signatures[at]
    if (signature === undefined) throw new Error("a key gives a signature for each message")
    return { ...written, signature }
  })
}

/** Appends the entry body of a leaf that was signed. */
export function appendLeafEntry<L extends Leaf>(
  log: LogIdentity,
  builder: LogBuilder,
  { leaf, bytes, signature }: SignedLeaf<L>,
): AppendedLeaf<L> {
  const body = entryBody({
    digestHex: sha256Hex(bytes),
    signatureDer: signature,
    spkiDer: log.keys.service.spki,
  })
  return { leaf, body, index: builder.append(utf8Encode(body)) }
}

/** Signs a leaf with the service key and appends its entry body. Rejects with SignerFailure. */
export async function signAndAppend<L extends Leaf>(
  log: LogIdentity,
  builder: LogBuilder,
  leaf: L,
): Promise<AppendedLeaf<L>> {
  const bytes = leafBytes(leaf)
  return appendLeafEntry(log, builder, { leaf, bytes, signature: await signOne(log.keys.service, bytes) })
}

/** A signed tree head that entries prove their inclusion against. */
export type EntryCheckpoint = {
  readonly size: number
  readonly root: Uint8Array
  readonly envelope: string
  /** Unix seconds: the log time of every entry under it. */
  readonly time: number
}

/** Signs the current head of the builder. */
export function signHead(log: LogIdentity, builder: LogBuilder, time: number): EntryCheckpoint {
  const head = { origin: log.origin, size: builder.size(), root: builder.root(), logId: log.keys.log.id }
  return { size: head.size, root: head.root, envelope: signedCheckpoint(head, log.keys.log.sign), time }
}

/** The anchor of an appended leaf under a checkpoint that includes it. */
export function anchorOf<L extends Leaf>(
  log: LogIdentity,
  builder: LogBuilder,
  { leaf, body, index }: AppendedLeaf<L>,
  checkpoint: EntryCheckpoint,
): Anchor<L> {
  const logId = log.keys.log.id
  const promise = { body: encodeBase64(utf8Encode(body)), integratedTime: checkpoint.time, logId, logIndex: index }
  const proof = {
    index,
    size: checkpoint.size,
    root: checkpoint.root,
    hashes: builder.proof(index, checkpoint.size),
    checkpoint: checkpoint.envelope,
  }
  const entry: TransparencyLogEntry = assembleEntry({
    logIndex: index,
    logId,
    integratedTime: checkpoint.time,
    body,
    signedEntryTimestamp: signedEntryTimestamp(promise, log.keys.log.sign),
    proof,
  })
  return { leaf, entry }
}

/**
 * The public C2SP checkpoint of a head: its origin line is the name of the Ed25519 key that signs it.
 * @param origin `<host> - <decimal tree id>`
 */
export function publicCheckpoint(keys: SigningKeys, origin: string, size: number, root: Uint8Array): string {
  const key = checkpointNoteKey(keys.checkpoint.spki, origin)
  const text = formatCheckpoint({ origin: key.name, size, root, extensions: [] })
  return signedNote(text, key, keys.checkpoint.sign)
}
