import { decodeBase64, decodeSafeDecimal, encodeBase64 } from "@runseal/canonical"
import { HASH_BYTES } from "../merkle/rfc6962.ts"

/** C2SP tlog-witness: the request of a log to a witness, `POST <prefix>/add-checkpoint`, and the answers. */

/** A checkpoint to cosign, and the proof that its tree extends the one the witness cosigned last. */
export interface AddCheckpoint {
  /** Leaves of the tree that the witness cosigned last; 0 when it cosigned none. */
  readonly oldSize: number
  /** RFC 6962 consistency proof from that tree to the checkpoint's; none from 0, or between equal sizes. */
  readonly proof: readonly Uint8Array[]
  /** The signed note, with the log's signature. */
  readonly checkpoint: string
}

export const ADD_CHECKPOINT = "add-checkpoint"
/** Media type of the answer 409, whose body is the tree size that the witness cosigned last. */
export const TREE_SIZE_TYPE = "text/x.tlog.size"
/** Most consistency proof lines of a request. */
export const MAX_PROOF_LINES = 63

/** The body of a request. */
export function formatAddCheckpoint({ oldSize, proof, checkpoint }: AddCheckpoint): string {
  return [`old ${oldSize}`, ...proof.map(encodeBase64), "", checkpoint].join("\n")
}

/** Reads the body of a request; the checkpoint is not parsed. Undefined for any other text. Never throws. */
export function parseAddCheckpoint(body: string): AddCheckpoint | undefined {
  const end = body.indexOf("\n\n")
  if (end === -1) return undefined
  const [first = "", ...lines] = body.slice(0, end).split("\n")
  const oldSize = first.startsWith("old ") ? decodeSafeDecimal(first.slice("old ".length)) : undefined
  if (oldSize === undefined || lines.length > MAX_PROOF_LINES) return undefined
  const proof = lines.map(decodeBase64).filter(hash => hash !== undefined)
  if (proof.length < lines.length || proof.some(hash => hash.length !== HASH_BYTES)) return undefined
  return { oldSize, proof, checkpoint: body.slice(end + 2) }
}

/** The body of the answer 409. */
export function formatTreeSize(size: number): string {
  return `${size}\n`
}

/** Reads the body of the answer 409; undefined for any other text. Never throws. */
export function parseTreeSize(body: string): number | undefined {
  return body.endsWith("\n") ? decodeSafeDecimal(body.slice(0, -1)) : undefined
}
