/**
 * Frontend messages of the PostgreSQL protocol 3.0 (PostgreSQL documentation, "Message Formats"): a type byte, then a
 * big-endian length that counts itself; the first message of a connection has no type byte.
 */

const TERMINATE = "X".charCodeAt(0)
const LENGTH_BYTES = 4

/** The start-up message opens with the high byte of its length, which no type byte equals. */
export const isStartup = (bytes: Uint8Array): boolean => bytes[0] === 0

/**
 * The messages without any Terminate, which would end the whole database and not only this connection. `bytes` are whole
 * messages: a client's write is never cut on the way here.
 */
export function withoutTerminate(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  while (at + LENGTH_BYTES < bytes.length && bytes[at] !== TERMINATE) at += 1 + view.getUint32(at + 1)
  return at < bytes.length ? bytes.subarray(0, at) : bytes
}
