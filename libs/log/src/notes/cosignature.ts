import { ml_dsa44 } from "@noble/post-quantum/ml-dsa.js"
import { concatBytes, utf8Encode } from "@runseal/canonical"
import { verifyEd25519 } from "#signatures"
import { parseCheckpoint } from "./checkpoint.ts"
import { isWitnessKey, type Note, type NoteKey, noteSignatureLine } from "./signed-note.ts"

/** C2SP tlog-cosignature: a witness states that it saw the log consistent up to this checkpoint. */

const UINT64_BYTES = 8
/** Most bytes of a name within the message for ML-DSA-44. */
const MAX_NAME_BYTES = 255
const SUBTREE_LABEL = utf8Encode("subtree/v1\n\0")

/** A witness: its name and algorithm decide which bytes it signs. */
export type Cosigner = Pick<NoteKey, "name" | "algorithm">

/**
 * The bytes a witness signs. With Ed25519 they are the whole checkpoint body. With ML-DSA-44 they are the witness's name and the
 * checkpoint's origin, size and root.
 * @param time in Unix seconds
 * @param noteText the checkpoint body
 * @returns undefined where ML-DSA-44 cannot sign it: for text that is no checkpoint, has extension lines, which it would leave out,
 *   or too long a name; and for a key that is no witness's
 */
export function cosignatureMessage(
  { name, algorithm }: Cosigner,
  time: number,
  noteText: string,
): Uint8Array | undefined {
  if (algorithm === "cosignature/v1") return utf8Encode(`cosignature/v1\ntime ${time}\n${noteText}`)
  const checkpoint = algorithm === "ml-dsa-44" ? parseCheckpoint(noteText) : undefined
  if (checkpoint === undefined || checkpoint.extensions.length > 0) return undefined
  const [cosigner, origin] = [utf8Encode(name), utf8Encode(checkpoint.origin)]
  if (cosigner.length > MAX_NAME_BYTES || origin.length > MAX_NAME_BYTES) return undefined
  return concatBytes(
    SUBTREE_LABEL,
    Uint8Array.of(cosigner.length),
    cosigner,
    uint64(time),
    Uint8Array.of(origin.length),
    origin,
    uint64(0),
    uint64(checkpoint.size),
    checkpoint.root,
  )
}

/** The bytes of a note signature: the time as a big-endian uint64, then the signature. `time` is a safe integer. */
export function encodeCosignature(time: number, signature: Uint8Array): Uint8Array {
  return concatBytes(uint64(time), signature)
}

/** The time (Unix seconds) that a cosignature states, unverified; undefined for none, which is 0, and beyond 2^53−1. */
export function cosignatureTime(cosignature: Uint8Array): number | undefined {
  if (cosignature.length <= UINT64_BYTES) return undefined
  const time = Number(new DataView(cosignature.buffer, cosignature.byteOffset).getBigUint64(0))
  return time === 0 || !Number.isSafeInteger(time) ? undefined : time
}

/**
 * The time (Unix seconds) at which a witness cosigned `noteText`; undefined when the signature is not valid, or the time is 0, which
 * states none, or beyond 2^53−1. Never throws.
 */
export function verifyCosignature(witness: NoteKey, noteText: string, cosignature: Uint8Array): number | undefined {
  const time = cosignatureTime(cosignature)
  if (time === undefined) return undefined
  const message = cosignatureMessage(witness, time, noteText)
  const verify = witness.algorithm === "ml-dsa-44" ? verifyMlDsa44 : verifyEd25519
  if (message === undefined) return undefined
  return verify(witness.publicKey, message, cosignature.subarray(UINT64_BYTES)) ? time : undefined
}

function uint64(value: number): Uint8Array {
  const bytes = new Uint8Array(UINT64_BYTES)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value))
  return bytes
}

/** FIPS 204 §5.3 with an empty context. One implementation on every engine, since Node 20 and browsers have none. Never throws. */
function verifyMlDsa44(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return ml_dsa44.verify(signature, message, publicKey)
  } catch {
    return false
  }
}

/** A witness's valid cosignature under a note. */
export interface Cosignature {
  readonly witness: NoteKey
  /** Unix seconds, by the witness's clock. */
  readonly time: number
  /** Its signature line, with the newline. */
  readonly line: string
}

/** The latest valid cosignature of a witness under a note; undefined when there is none. Never throws. */
export function cosignatureOf({ text, signatures }: Note, witness: NoteKey): Cosignature | undefined {
  if (!isWitnessKey(witness)) return undefined
  return signatures
    .filter(({ name, keyId }) => name === witness.name && keyId === witness.keyId)
    .reduce<Cosignature | undefined>((latest, signature) => {
      const time = verifyCosignature(witness, text, signature.signature)
      if (time === undefined || (latest !== undefined && latest.time >= time)) return latest
      return { witness, time, line: noteSignatureLine(signature) }
    }, undefined)
}
