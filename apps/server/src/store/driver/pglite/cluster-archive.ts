/**
 * The folder of a closed cluster as one file: a tar (POSIX.1-1988 "ustar"), which PGlite loads into memory as well, compressed with
 * Zstandard. Names are ASCII and short, and every file is this user's own: PostgreSQL wrote them.
 */
import { lstatSync, readdirSync, readFileSync } from "node:fs"
import { mkdir, open } from "node:fs/promises"
import { join } from "node:path"
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib"

const BLOCK = 512
/** Offsets and lengths of the members of a header that are used. */
const NAME = [0, 100] as const
const SIZE = [124, 12] as const
const SUM = [148, 8] as const
const KIND = 156
const MAGIC = 257
const FILE = "0"
const FOLDER = "5"
/** Bytes of an archive that is expanded, at most: an empty database has some 40 MB. */
const MAX_BYTES = 256 * 1024 * 1024
/** Files that are written and synced at a time. */
const AT_ONCE = 32

export type TarEntry = { readonly name: string; readonly isFolder: boolean; readonly bytes: Uint8Array }

/** The tar of a folder, compressed. Names are sorted, and times and owners are left out. */
export const packFolder = (folder: string): Uint8Array => {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()
  const blocks = names.flatMap(name => {
    const path = join(folder, name)
    const isFolder = lstatSync(path).isDirectory()
    const bytes = isFolder ? Buffer.alloc(0) : readFileSync(path)
    return [headerOf(name.replaceAll("\\", "/"), isFolder, bytes.length), padded(bytes)]
  })
  const level = { params: { [constants.ZSTD_c_compressionLevel]: 12 } }
  return zstdCompressSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), level)
}

/** The tar inside. @throws Error when it is not what packFolder made */
export const expand = (archive: Uint8Array): Uint8Array<ArrayBuffer> =>
  new Uint8Array(zstdDecompressSync(archive, { maxOutputLength: MAX_BYTES }))

const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(-bytes.length & (BLOCK - 1))])

function headerOf(name: string, isFolder: boolean, size: number): Buffer {
  const written = isFolder ? `${name}/` : name
  if (written.length > NAME[1]) throw new Error(`${name}: too long a name for a tar`)
  const header = Buffer.alloc(BLOCK)
  header.write(written, NAME[0], "latin1")
  header.write(isFolder ? "0000700\0" : "0000600\0", 100)
  header.write("0000000\x000000000\0", 108)
  header.write(`${size.toString(8).padStart(SIZE[1] - 1, "0")}\0${"0".repeat(11)}\0`, SIZE[0])
  header.write(isFolder ? FOLDER : FILE, KIND)
  header.write("ustar\x0000", MAGIC)
  // The sum is that of the header with spaces in its own place.
  header.fill(" ", SUM[0], SUM[0] + SUM[1])
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, SUM[0])
  return header
}

/** What is in a tar that packFolder made, folders before what is in them. */
export function* entriesOf(tar: Uint8Array): Generator<TarEntry> {
  const all = Buffer.from(tar.buffer, tar.byteOffset, tar.byteLength)
  const text = (at: number, [offset, length]: readonly [number, number]): string =>
    all.toString("latin1", at + offset, at + offset + length).split("\0", 1)[0] ?? ""
  for (let at = 0; (all[at] ?? 0) !== 0; ) {
    const size = Number.parseInt(text(at, SIZE), 8)
    const start = at + BLOCK
    yield {
      name: text(at, NAME).replace(/\/$/, ""),
      isFolder: String.fromCharCode(all[at + KIND] ?? 0) === FOLDER,
      bytes: all.subarray(start, start + size),
    }
    at = start + Math.ceil(size / BLOCK) * BLOCK
  }
}

/** Writes entries into an empty folder; when it resolves, all of it is on the disk. Files and folders are this user's alone. */
export async function writeSynced(folder: string, entries: Iterable<TarEntry>): Promise<void> {
  const folders = [folder]
  const files: TarEntry[] = []
  for (const entry of entries) {
    if (!entry.isFolder) files.push(entry)
    else {
      folders.push(join(folder, entry.name))
      await mkdir(join(folder, entry.name), { mode: 0o700 })
    }
  }
  await someAtOnce(files, async ({ name, bytes }) => {
    const file = await open(join(folder, name), "wx", 0o600)
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
  })
  await someAtOnce(folders, async path => {
    const handle = await open(path, "r")
    await handle.sync().finally(() => handle.close())
  })
}

async function someAtOnce<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = all.values()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const one of left) await work(one)
    }),
  )
}
