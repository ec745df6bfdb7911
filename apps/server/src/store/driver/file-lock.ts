/** A lock between processes that no crash leaves behind. */
import { DatabaseSync } from "node:sqlite"

/** Result code of SQLite for a lock that somebody else holds. */
const SQLITE_BUSY = 5

export type FileLock = { readonly release: () => void }

/**
 * Takes the lock of a file, which is made when it is missing and stays. It is an exclusive transaction of SQLite on an empty file, in the
 * end a lock of the operating system's: it goes with its process however that ends, so that there are no stale locks to judge. It holds
 * between threads too, and between containers that share a volume of one machine.
 * @param waitMs how long to wait for whoever has it; the thread stands still meanwhile
 * @returns undefined when somebody else still has it
 * @throws an error of node:sqlite when the file cannot be used
 */
export function lockFile(path: string, waitMs: number): FileLock | undefined {
  let file: DatabaseSync | undefined
  try {
    file = new DatabaseSync(path, { timeout: waitMs })
    file.exec("BEGIN EXCLUSIVE")
    return { release: file.close.bind(file) }
  } catch (error) {
    file?.close()
    if (error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY) return undefined
    throw error
  }
}
