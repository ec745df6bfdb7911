/** What a client of a timestamp authority sends, and what it keeps of the answer. RFC 3161 §2.4. */
import { digest } from "#signatures"
import { DerError, type DerValue, derIn, derItems, formatDer, readingDer, smallIntegerOf, TAG } from "./der.ts"
import { namesRsaHash, RSA_ALGORITHM, SHA256_ALGORITHM } from "./signer-key.ts"
import { GRANTED_STATUS, MAX_TIMESTAMP_BYTES, parseTimestamp } from "./timestamp.ts"

const REQUEST_VERSION = 1
const GRANTED = 0

/** A request for a timestamp over bytes, with the certificate of the signer. @param nonce its first bit is clear, its first byte not 0 */
export function timestampRequest(bytes: Uint8Array, nonce: Uint8Array): Uint8Array {
  const imprint = formatDer(TAG.sequence, SHA256_ALGORITHM, formatDer(TAG.octetString, digest("sha256", bytes)))
  const version = formatDer(TAG.integer, Uint8Array.of(REQUEST_VERSION))
  return formatDer(
    TAG.sequence,
    version,
    imprint,
    formatDer(TAG.integer, nonce),
    formatDer(TAG.boolean, Uint8Array.of(0xff)),
  )
}

/**
 * What an authority answered, in the one form in which it is kept: granted without further words, and RSA signatures under their
 * general name. Neither is signed. The signed bytes and the signature stay as they are. Undefined when nothing was granted, or
 * it is no timestamp. Never throws.
 */
export function keptTimestamp(answer: Uint8Array): Uint8Array | undefined {
  if (answer.length > MAX_TIMESTAMP_BYTES) return undefined
  const kept = readingDer(() => {
    const items = derItems(derIn(answer, TAG.sequence).content)
    const status = derItems(items.next(TAG.sequence).content)
    if (smallIntegerOf(status.next(TAG.integer)) !== GRANTED) throw new DerError()
    const token = items.next(TAG.sequence)
    items.end()
    return formatDer(TAG.sequence, GRANTED_STATUS, withGeneralRsaName(token.raw))
  })
  return kept !== undefined && parseTimestamp(kept) !== undefined ? kept : undefined
}

/** A token whose signer names RSA together with a hash, under the general name; both take the same bytes. */
function withGeneralRsaName(token: Uint8Array): Uint8Array {
  const items = derItems(derIn(token, TAG.sequence).content)
  items.next(TAG.oid)
  const data = derIn(items.next(TAG.constructed).content, TAG.sequence)
  const last = listLast(data.content)
  const signer = derItems(derIn(last.content, TAG.sequence).content)
  for (const tag of [TAG.integer, TAG.sequence, TAG.sequence, TAG.constructed]) signer.next(tag)
  const algorithm = signer.next(TAG.sequence)
  if (!namesRsaHash(algorithm) || algorithm.raw.length !== RSA_ALGORITHM.length) return token
  const copy = token.slice()
  copy.set(RSA_ALGORITHM, algorithm.raw.byteOffset - token.byteOffset)
  return copy
}

function listLast(content: Uint8Array): DerValue {
  const items = derItems(content)
  let value = items.take()
  while (!items.isEmpty()) value = items.take()
  return value
}
