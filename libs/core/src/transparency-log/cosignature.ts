import { concatBytes, utf8Encode } from "@runseal/canonical"
import { verifyEd25519 } from "#signatures"

/** C2SP tlog-cosignature, Ed25519: a witness states that it saw the log consistent up to this checkpoint. */

const TIMESTAMP_BYTES = 8
const ED25519_SIGNATURE_BYTES = 64

/** The bytes a witness signs: `noteText` is the whole checkpoint body, `time` in Unix seconds. */
export function cosignatureMessage(time: number, noteText: string): Uint8Array {
  return utf8Encode(`cosignature/v1\ntime ${time}\n${noteText}`)
}

/** The bytes of a note signature: the time as a big-endian uint64, then the Ed25519 signature. `time` is a safe integer. */
export function encodeCosignature(time: number, signature: Uint8Array): Uint8Array {
  const timestamp = new Uint8Array(TIMESTAMP_BYTES)
  new DataView(timestamp.buffer).setBigUint64(0, BigInt(time))
  return concatBytes(timestamp, signature)
}

/**
 * The time (Unix seconds) at which the witness with `publicKey` cosigned `noteText`; undefined when the signature is not
 * valid or the time is beyond 2^53−1. Never throws.
 */
export function verifyCosignature(
  publicKey: Uint8Array,
  noteText: string,
  cosignature: Uint8Array,
): number | undefined {
  if (cosignature.length !== TIMESTAMP_BYTES + ED25519_SIGNATURE_BYTES) return undefined
  const time = Number(new DataView(cosignature.buffer, cosignature.byteOffset).getBigUint64(0))
  if (!Number.isSafeInteger(time)) return undefined
  const message = cosignatureMessage(time, noteText)
  return verifyEd25519(publicKey, message, cosignature.subarray(TIMESTAMP_BYTES)) ? time : undefined
}
