/** The data folder of the embedded database: its lock, the check of its version, and its creation. */

import { randomBytes } from "node:crypto"
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { isFullDisk, isSystemError, ofDescriptors, StartupError } from "../../../options/startup-error.ts"
import { type FileLock, lockFile } from "../file-lock.ts"
import { makeFolder } from "../make-folder.ts"
import { entriesOf, expand, type TarEntry, writeSynced } from "./cluster-archive.ts"
import { damaged, lacksRoom, noRoom } from "./folder-trouble.ts"

/** PostgreSQL's major version inside PGlite 0.5; a major version reads no other's files. */
const POSTGRES_MAJOR = "18"

const LOCK_FILE = "lock"
const CLUSTER = "postgres"
const UNFINISHED_CLUSTER = "postgres.unfinished"

/**
 * Takes the data folder for this process, making it when it is missing.
 * @throws StartupError when another process has the folder, or this one may not write to it
 */
export function lockFolder(dataDir: string): FileLock {
  let lock: FileLock | undefined
  try {
    makeFolder(dataDir)
    lock = lockFile(join(dataDir, LOCK_FILE), 0)
  } catch (cause) {
    throw unusable(dataDir, cause)
  }
  if (lock === undefined)
    throw new StartupError(`The data folder ${dataDir} is in use by another process: stop that first.`)
  return lock
}

/** @throws StartupError when the folder holds no database; nothing is made */
export function refuseMissing(dataDir: string): void {
  if (!existsSync(join(dataDir, CLUSTER)))
    throw new StartupError(
      `There is no deployment in the data folder ${dataDir}: check --data-dir; the first start of the service makes one.`,
    )
}

const unusable = (dataDir: string, cause: unknown): StartupError =>
  ofDescriptors(cause) ??
  new StartupError(
    isFullDisk(cause) || lacksRoom(dataDir)
      ? noRoom(dataDir)
      : `The data folder ${dataDir} cannot be used: check that it is a folder this user may write to and all of it is there.`,
    { cause },
  )

/**
 * The folder of a cluster this release can open, made when there is none yet. A cluster is made beside its place and
 * moved there only when all of it is on disk; what an interrupted start left unfinished is made anew.
 * @param template the archive of the cluster that a new one is made of
 * @throws StartupError for a folder that cannot be used and for a cluster of another major version
 */
export async function prepareCluster(dataDir: string, template: () => Promise<Uint8Array>): Promise<string> {
  try {
    return await usableCluster(dataDir, template)
  } catch (error) {
    throw isSystemError(error) ? unusable(dataDir, error) : error
  }
}

async function usableCluster(dataDir: string, template: () => Promise<Uint8Array>): Promise<string> {
  const clusterDir = join(dataDir, CLUSTER)
  if (!existsSync(clusterDir)) await makeCluster(dataDir, clusterDir, await template())
  const major = readFileSync(join(clusterDir, "PG_VERSION"), "utf8").trim()
  if (!/^\d+$/.test(major)) throw new StartupError(damaged(dataDir))
  if (major !== POSTGRES_MAJOR) {
    throw new StartupError(
      `The data folder ${dataDir} holds a database of PostgreSQL ${major} and this release reads ${POSTGRES_MAJOR}: start the release that wrote it, export the data and import it into a new folder.`,
    )
  }
  return clusterDir
}

async function makeCluster(dataDir: string, clusterDir: string, template: Uint8Array): Promise<void> {
  const unfinished = join(dataDir, UNFINISHED_CLUSTER)
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { mode: 0o700 })
  await writeSynced(unfinished, withOwnIdentifier(entriesOf(expand(template)), Date.now()))
  renameSync(unfinished, clusterDir)
  syncPath(dataDir)
}

function syncPath(path: string): void {
  const fd = openSync(path, "r")
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

// Gives a cluster that is made of the template a system identifier of its own, as initdb gives each one: by it the service knows that
// another database took the place of its own (decision 0110). PostgreSQL's sources: pg_control.h (ControlFileData), xlog_internal.h
// (XLogLongPageHeaderData).

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
