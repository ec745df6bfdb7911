/** Decides whether a checkpoint is cosigned: the checks of C2SP tlog-witness, `add-checkpoint`, in its order. */
import { equalBytes } from "@runseal/canonical"
import { EMPTY_ROOT, verifyConsistency } from "@runseal/log/merkle/rfc6962"
import { parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { parseNote } from "@runseal/log/notes/signed-note"
import { verifyNote } from "@runseal/log/notes/verified-note"
import { parseAddCheckpoint } from "@runseal/log/notes/witness-messages"
import type { CosignedTree, WitnessState } from "./state.ts"
import type { KnownLog } from "./witness-options.ts"

/** A tree to cosign, with the text to sign; or the status that refuses it, with the size of what was cosigned last where the log was wrong about that. */
export type Judgement =
  | { readonly status: 200; readonly origin: string; readonly tree: CosignedTree; readonly text: string }
  | { readonly status: 400 | 403 | 404 | 422 }
  | { readonly status: 409; readonly size?: number }

/** Checks the body of a request against the tree that was cosigned last. Nothing is written. */
export function judge(body: string, logs: readonly KnownLog[], state: Pick<WitnessState, "read">): Judgement {
  const request = parseAddCheckpoint(body)
  const note = request === undefined ? undefined : parseNote(request.checkpoint)
  const head = note === undefined ? undefined : parseCheckpoint(note.text)
  if (request === undefined || note === undefined || head === undefined) return { status: 400 }
  const { origin, size, root } = head
  const log = logs.find(known => known.origin === origin)
  if (log === undefined) return { status: 404 }
  if (verifyNote(request.checkpoint, log.keys) === undefined) return { status: 403 }
  const { oldSize, proof, checkpoint } = request
  if (oldSize > size) return { status: 400 }
  const known = state.read(origin) ?? { size: 0, root: EMPTY_ROOT }
  if (oldSize !== known.size) return { status: 409, size: known.size }
  if (oldSize === size && !equalBytes(root, known.root)) return { status: 409 }
  // Every tree follows from the empty one, and nothing can be proved of it.
  const consistent =
    oldSize === 0
      ? proof.length === 0
      : verifyConsistency({ size1: oldSize, size2: size, root1: known.root, root2: root, proof })
  if (!consistent) return { status: 422 }
  return { status: 200, origin, tree: { size, root, checkpoint }, text: note.text }
}
