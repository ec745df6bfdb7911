/** ZIP files of tests, good and hostile. */
import { crc32, deflateRawSync } from "node:zlib"

/** What an entry says of itself; a hostile one says something else than is true. */
export type Entry = {
  readonly name: string
  readonly data: Uint8Array | string
  readonly method?: number
  readonly flags?: number
  readonly size?: number
  readonly crc?: number
  readonly packed?: Uint8Array
  readonly extra?: Uint8Array
  /** Extra fields in the header before the data, instead of `extra`. */
  readonly localExtra?: Uint8Array
  /** What the entry becomes on a disk, as systems with modes write it. */
  readonly mode?: number
  /** What the header before the data says instead. */
  readonly local?: Partial<Record<"name" | "size", string | number>>
}

function headersOf({ name, data, method = 0, flags = 0, extra = new Uint8Array(), ...entry }: Entry) {
  const plain = Buffer.from(data)
  const packed = Buffer.from(entry.packed ?? (method === 8 ? deflateRawSync(plain) : plain))
  const { size = plain.length, crc = crc32(plain) } = entry
  const localExtra = entry.localExtra ?? extra
  const described = (shownName: string, shownSize: number, extraLength: number): Buffer => {
    const bytes = Buffer.alloc(26)
    bytes.writeUInt16LE(20, 0)
    bytes.writeUInt16LE(flags, 2)
    bytes.writeUInt16LE(method, 4)
    bytes.writeUInt16LE(33, 8)
    bytes.writeUInt32LE(crc, 10)
    bytes.writeUInt32LE(packed.length, 14)
    bytes.writeUInt32LE(shownSize, 18)
    bytes.writeUInt16LE(shownName.length, 22)
    bytes.writeUInt16LE(extraLength, 24)
    return bytes
  }
  const localName = `${entry.local?.name ?? name}`
  const local = [
    Buffer.from("PK\x03\x04"),
    described(localName, Number(entry.local?.size ?? size), localExtra.length),
    localName,
    localExtra,
  ]
  return { local: [...local, packed], central: described(name, size, extra.length), name, extra, mode: entry.mode ?? 0 }
}

/** A ZIP with these entries. @param changed what its end says instead */
export function zip(
  entries: readonly Entry[],
  changed: { readonly count?: number; readonly comment?: string } = {},
): Buffer {
  const join = (parts: readonly (Uint8Array | string)[]): Buffer => Buffer.concat(parts.map(part => Buffer.from(part)))
  const bodies: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const { local, central, name, extra, mode } = headersOf(entry)
    const place = Buffer.alloc(14)
    place.writeUInt16LE(mode, 8)
    place.writeUInt32LE(offset, 10)
    directory.push(join(["PK\x01\x02", "\x14\x03", central, place, name, extra]))
    bodies.push(join(local))
    offset += bodies.at(-1)?.length ?? 0
  }
  const listed = join(directory)
  const end = Buffer.alloc(22)
  end.write("PK\x05\x06", "latin1")
  end.writeUInt16LE(changed.count ?? entries.length, 8)
  end.writeUInt16LE(changed.count ?? entries.length, 10)
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(offset, 16)
  end.writeUInt16LE(changed.comment?.length ?? 0, 20)
  return join([...bodies, listed, end, changed.comment ?? ""])
}
