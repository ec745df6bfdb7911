/** The folder of the signing keys and of the heads beside them. */
import { closeSync, fsyncSync, openSync } from "node:fs"
import { isFullDisk, isSystemError, StartupError } from "../startup-error.ts"

/**
 * Does the work of a start in the keys folder.
 * @throws StartupError instead of whatever the system refuses
 */
export function inKeysFolder<T>(directory: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (!isSystemError(cause)) throw cause
    if (isFullDisk(cause))
      throw new StartupError(`The keys folder ${directory} is on a full disk: make room and start again.`, { cause })
    throw new StartupError(
      `The keys folder ${directory} cannot be used: check that all of it is there and that this user may write to it.`,
      { cause },
    )
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
