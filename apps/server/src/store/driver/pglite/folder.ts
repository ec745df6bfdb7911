/** The data folder of the embedded database: its lock, the check of its version, and its creation. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { isFullDisk, isSystemError, ofDescriptors, StartupError } from "../../../options/startup-error.ts"
import { type FileLock, lockFile } from "../file-lock.ts"
import { makeFolder } from "../make-folder.ts"
import { entriesOf, expand, writeSynced } from "./cluster-archive.ts"
import { damaged, lacksRoom, noRoom } from "./folder-trouble.ts"
import { withOwnIdentifier } from "./own-identifier.ts"

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
