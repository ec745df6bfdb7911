/** The folder of the signing keys and of the heads beside them. */
import { closeSync, fsyncSync, openSync } from "node:fs"
import { join } from "node:path"
import { isFullDisk, isSystemError, ofDescriptors, StartupError } from "../options/startup-error.ts"
import { type FileLock, lockFile } from "../store/driver/file-lock.ts"

/**
 * Runs file operations in the keys folder.
 * @throws StartupError in place of an error of the operating system
 */
export function inKeysFolder<T>(directory: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (!isSystemError(cause)) throw cause
    if (isFullDisk(cause))
      throw new StartupError(`The keys folder ${directory} is on a full disk: make room and start again.`, { cause })
    throw unusable(directory, cause)
  }
}

const unusable = (directory: string, cause: unknown): StartupError =>
  ofDescriptors(cause) ??
  new StartupError(
    `The keys folder ${directory} cannot be used: check that all of it is there and that this user may write to it.`,
    { cause },
  )

/** Locked while the keys are changed. The file is empty and is never removed. */
export const KEYS_LOCK_FILE = "lock"
/** Longest wait for the lock, in milliseconds. Another process holds it for some file operations only. */
export const KEYS_LOCK_WAIT_MS = 10_000

/**
 * Runs file operations while no other process changes the keys of this folder.
 * @throws StartupError in place of an error of the operating system, and when another process does not release the lock in time
 */
export function whileLocked<T>(directory: string, work: () => T): T {
  return inKeysFolder(directory, () => {
    const lock = takeLock(directory)
    if (lock === undefined)
      throw new StartupError(`Another process is changing the keys in ${directory}: try again once it has ended.`)
    try {
      return work()
    } finally {
      lock.release()
    }
  })
}

function takeLock(directory: string): FileLock | undefined {
  try {
    return lockFile(join(directory, KEYS_LOCK_FILE), KEYS_LOCK_WAIT_MS)
  } catch (cause) {
    throw unusable(directory, cause)
  }
}

/** Makes a directory's entries durable. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, "r")
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
