/** The request of a client to a timestamp authority. RFC 3161 §2.4.1. */
import { digest } from "#signatures"
import { formatDer, TAG } from "../keys/der.ts"
import { SHA256_ALGORITHM } from "../keys/signer-key.ts"

const REQUEST_VERSION = 1

/**
 * A request for a timestamp over bytes. It does not ask for the signer's certificate, which the trust document lists.
 * @param nonce its first bit is clear, its first byte not 0
 */
export function timestampRequest(bytes: Uint8Array, nonce: Uint8Array): Uint8Array {
  const imprint = formatDer(TAG.sequence, SHA256_ALGORITHM, formatDer(TAG.octetString, digest("sha256", bytes)))
  const version = formatDer(TAG.integer, Uint8Array.of(REQUEST_VERSION))
  return formatDer(TAG.sequence, version, imprint, formatDer(TAG.integer, nonce))
}
