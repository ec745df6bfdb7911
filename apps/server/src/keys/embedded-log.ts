/**
 * The embedded transparency log: it makes log entries (profile A) of leaves, each with proof, checkpoint and timestamp.
 * It signs every leaf that it gets. The sealer's transaction guarantees that a signed leaf is also in the stored log.
 */
import { concatBytes, encodeBase64, sha256Hex, utf8Encode } from "@runseal/canonical"
import type { Anchor, Leaf } from "@runseal/core/artifacts/anchor"
import { leafBytes } from "@runseal/core/formulas/leaves"
import { assembleEntry, entryBody, type TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { signedCheckpoint, signedEntryTimestamp, signedNote } from "@runseal/log/entries/log-signing"
import { appendLeaf, type CompactRange, rootOf } from "@runseal/log/merkle/compact-range"
import { assembleProof, completeSubtrees, hashLeaf, inclusionPath, type NodeId } from "@runseal/log/merkle/rfc6962"
import { TILE_HEIGHT, TILE_WIDTH } from "@runseal/log/merkle/tiles"
import { formatCheckpoint } from "@runseal/log/notes/checkpoint"
import { checkpointNoteKey, type SigningKeys, signOne } from "./ecdsa-keys.ts"

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

// The log as it grows in memory: entries are appended, their proofs are built, and full tiles are made for the store to write.

/** The part of a log that is needed to append to it. */
export type LogFrontier = {
  readonly range: CompactRange
  /** Per tile level the hashes since the last full tile, at most 255. */
  readonly edges: readonly (readonly Uint8Array[])[]
}

type NewTile = { readonly level: number; readonly tile_index: number; readonly hashes: Uint8Array }

export type LogBuilder = {
  /** Appends an entry body and gives its index. */
  readonly append: (body: Uint8Array) => number
  readonly size: () => number
  readonly root: () => Uint8Array
  /** Inclusion proof of an entry appended here, in the tree of `size` leaves. */
  readonly proof: (index: number, size: number) => readonly Uint8Array[]
  readonly frontier: () => LogFrontier
  readonly tiles: () => readonly NewTile[]
}

const keyOf = ({ level, index }: NodeId): string => `${level}/${index}`

/** A builder that continues from a frontier. The frontier itself is not changed. */
export function growLog(start: LogFrontier): LogBuilder {
  let range = start.range
  const edges = start.edges.map(edge => [...edge])
  const tiles: NewTile[] = []
  // The left siblings of new leaves are nodes of the frontier or new ones: a proof needs no others.
  const nodes = new Map<string, Uint8Array>()
  completeSubtrees(0, range.size).forEach((node, i) => {
    const hash = range.hashes[i]
    if (hash !== undefined) nodes.set(keyOf(node), hash)
  })
  const takeIntoTile = (level: number, index: number, hash: Uint8Array): void => {
    while (edges.length <= level) edges.push([])
    const edge = edges[level] ?? []
    edge.push(hash)
    if (edge.length < TILE_WIDTH) return
    tiles.push({ level, tile_index: Math.floor(index / TILE_WIDTH), hashes: concatBytes(...edge) })
    edges[level] = []
  }
  const hashOf = (node: NodeId): Uint8Array => {
    const hash = nodes.get(keyOf(node))
    if (hash === undefined) throw new Error("a proof needs a node that is neither in the frontier nor new")
    return hash
  }
  return {
    append: body => {
      const index = range.size
      const appended = appendLeaf(range, hashLeaf(body))
      range = appended.range
      for (const node of appended.nodes) {
        nodes.set(keyOf(node), node.hash)
        if (node.level % TILE_HEIGHT === 0) takeIntoTile(node.level / TILE_HEIGHT, node.index, node.hash)
      }
      return index
    },
    size: () => range.size,
    root: () => rootOf(range),
    proof: (index, size) => assembleProof(inclusionPath(index, size), hashOf),
    frontier: () => ({ range, edges: edges.map(edge => [...edge]) }),
    tiles: () => tiles,
  }
}
