/**
 * Gives a cluster that is made of the template a system identifier of its own, as initdb gives each one: by it the service knows that
 * another database took the place of its own (decision 0110). PostgreSQL's sources: pg_control.h (ControlFileData), xlog_internal.h
 * (XLogLongPageHeaderData).
 */
import { randomBytes } from "node:crypto"
import type { TarEntry } from "./cluster-archive.ts"

const CONTROL_FILE = "global/pg_control"
const WAL_SEGMENT = /^pg_wal\/[0-9A-F]{24}$/
/** Bytes of an identifier. It is first in the control file, and in a WAL segment at this offset. */
const ID_BYTES = 8
const ID_IN_SEGMENT = 24
/** Bytes of the control file that are ever used, PG_CONTROL_MAX_SAFE_SIZE. */
const CONTROL_BYTES = 512

/**
 * @param nowMs its first half says when it was made
 * @throws Error for entries that are not those of a cluster
 */
export function withOwnIdentifier(entries: Iterable<TarEntry>, nowMs: number): readonly TarEntry[] {
  const all = [...entries]
  const control = all.find(({ name }) => name === CONTROL_FILE)
  if (control === undefined) throw new Error("The template has no control file.")
  const before = control.bytes.slice(0, ID_BYTES)
  const id = Buffer.concat([littleEndian(randomBytes(4).readUInt32LE()), littleEndian(Math.floor(nowMs / 1000))])
  return all.map(entry => {
    if (entry.name === CONTROL_FILE) return { ...entry, bytes: withSum(entry.bytes, id) }
    if (!WAL_SEGMENT.test(entry.name)) return entry
    const bytes = Buffer.from(entry.bytes)
    const found = bytes.subarray(ID_IN_SEGMENT, ID_IN_SEGMENT + ID_BYTES)
    if (!found.equals(before)) throw new Error(`The template's ${entry.name} is of another cluster.`)
    found.set(id)
    return { ...entry, bytes }
  })
}

function littleEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

/** The control file with another identifier. Its last used member is the sum of all bytes before; where that is depends on the version. */
function withSum(control: Uint8Array, id: Uint8Array): Buffer {
  const bytes = Buffer.from(control)
  const sumAt = placeOfSum(bytes)
  bytes.set(id)
  bytes.writeUInt32LE(crc32c(bytes.subarray(0, sumAt)), sumAt)
  return bytes
}

function placeOfSum(control: Buffer): number {
  for (let at = CONTROL_BYTES - 4; at > ID_BYTES; at -= 4)
    if (control.readUInt32LE(at) !== 0 && control.readUInt32LE(at) === crc32c(control.subarray(0, at))) return at
  throw new Error("The template's control file has no sum.")
}

/** CRC-32C, reversed polynomial. RFC 3720, appendix B.4. */
const POLYNOMIAL = 0x82f63b78

function crc32c(bytes: Uint8Array): number {
  let sum = 0xffffffff
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (POLYNOMIAL & -(sum & 1))
  }
  return ~sum >>> 0
}
