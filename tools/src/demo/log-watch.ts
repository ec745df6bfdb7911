/** Monitors the log from outside: by its signed checkpoints and the consistency proofs between them. */
import { decodeBase64, type JsonValue } from "@runseal/canonical"
import { member } from "@runseal/core/vocabulary/json-members"
import { verifyConsistency } from "@runseal/log/merkle/rfc6962"
import { type Checkpoint, parseCheckpoint, publicOrigin } from "@runseal/log/notes/checkpoint"
import { verifyNote } from "@runseal/log/notes/verified-note"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { get } from "./demo-requests.ts"

/** The log's published checkpoint. @throws Error when no trusted checkpoint key signed it */
export async function readCheckpoint(url: string, trust: TrustedKeys): Promise<Checkpoint> {
  const note = verifyNote((await get(`${url}/log/checkpoint`)).text, trust.checkpointKeys)
  const checkpoint = note === undefined ? undefined : parseCheckpoint(note.text)
  if (checkpoint?.origin !== publicOrigin(trust.origin))
    throw new Error("the checkpoint is not signed by the log that is trusted")
  return checkpoint
}

const hashesOf = (answer: JsonValue): readonly Uint8Array[] => {
  const hashes = member(answer, "hashes")
  const texts = Array.isArray(hashes) ? hashes.filter(hash => typeof hash === "string") : []
  return texts.map(decodeBase64).filter(hash => hash !== undefined)
}

/** Whether the log of the second checkpoint begins with the whole log of the first (RFC 6962, section 2.1.2). */
export async function continues(url: string, first: Checkpoint, second: Checkpoint): Promise<boolean> {
  const answer = await get(`${url}/log/consistency?first=${first.size}&second=${second.size}`)
  const proof = hashesOf(answer.json())
  const [root1, root2] = [first.root, second.root]
  return verifyConsistency({ size1: first.size, size2: second.size, root1, root2, proof })
}
