/** Compares a log with its checkpoints seen before: it may only grow. RFC 6962 §2.1.2. */
import { encodeBase64, equalBytes } from "@runseal/canonical"
import { verifyConsistency } from "@runseal/log/merkle/rfc6962"
import { buildConsistencyProof, type ReadTile } from "@runseal/log/merkle/tiles"
import type { Checkpoint } from "@runseal/log/notes/checkpoint"
import { inOrder } from "./in-order.ts"
import { AuditFailure } from "./log-failure.ts"
import type { SeenCheckpoint } from "./seen-checkpoints.ts"

/** Compares the root of a tree with the one seen of the same size. Throws AuditFailure when they differ. */
type HoldToSeen = (size: number, root: () => Uint8Array) => void

/** The check to call with every size of a rebuild; the root is computed only where a checkpoint was seen. */
export function holdTo(seen: readonly SeenCheckpoint[]): HoldToSeen {
  const bySize = new Map<number, SeenCheckpoint[]>()
  for (const one of seen) bySize.set(one.head.size, [...(bySize.get(one.head.size) ?? []), one])
  return (size, root) => {
    for (const one of bySize.get(size) ?? []) if (!equalBytes(root(), one.head.root)) throw changedPast(one, root())
  }
}

/** Refuses a checkpoint that is smaller than one seen before, or of the same size with another root. */
export function checkHead({ size, root }: Checkpoint, seen: readonly SeenCheckpoint[]): void {
  const largest = seen.reduce<SeenCheckpoint | undefined>(
    (most, one) => (most === undefined || one.head.size > most.head.size ? one : most),
    undefined,
  )
  if (largest !== undefined && largest.head.size > size)
    throw new AuditFailure(
      "history",
      `The log shrank, or this is an older copy of it: it shows ${size} entries, and had ${largest.head.size} when it was seen at ${largest.seen_at}.`,
    )
  holdTo(seen)(size, () => root)
}

/** Proofs that are made at one time. */
const PROOFS_AHEAD = 4

/**
 * Proves from tiles that trees seen before are the first entries of a tree.
 * @param base the tree that `readTile` reads; its tiles need no trust, since the proof must lead to both roots
 */
export async function provePrefixes(
  seen: readonly SeenCheckpoint[],
  base: Checkpoint,
  readTile: ReadTile,
): Promise<void> {
  const trees = new Map(seen.map(one => [`${one.head.size} ${encodeBase64(one.head.root)}`, one]))
  const earlier = [...trees.values()].filter(({ head }) => head.size > 0 && head.size <= base.size)
  const prove = async (at: number): Promise<SeenCheckpoint | undefined> => {
    const one = earlier[at]
    if (one === undefined) return undefined
    const { size, root } = one.head
    const proof = await buildConsistencyProof(size, base.size, readTile)
    const isPrefix = verifyConsistency({ size1: size, size2: base.size, root1: root, root2: base.root, proof })
    return isPrefix ? undefined : one
  }
  for await (const contradicted of inOrder(0, earlier.length, PROOFS_AHEAD, prove))
    if (contradicted !== undefined) throw changedPast(contradicted)
}

function changedPast(one: SeenCheckpoint, found?: Uint8Array): AuditFailure {
  const { size, root } = one.head
  const now = found === undefined ? "and its tiles lead to another now" : `and has ${encodeBase64(found)} now`
  return new AuditFailure(
    "history",
    `The log was forked or its past changed: its first ${size} entries had the root ${encodeBase64(root)} when it was seen at ${one.seen_at}, ${now}.`,
    one,
  )
}
