/** A lock between processes that a crash releases. */
import { closeSync, openSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"

/** Result code of SQLite for a lock that another connection holds. */
const SQLITE_BUSY = 5

export type FileLock = { readonly release: () => void }

/**
 * Takes the lock of a file, which is created if missing and never removed. The lock is an exclusive transaction of SQLite on an empty file,
 * so a lock of the operating system: it ends with its process, however that ends, and is never stale. It works between threads
 * too, and between containers that share a volume of one machine.
 * @param waitMs how long to wait while another process holds it; the thread is blocked meanwhile
 * @returns undefined when another process still has it
 * @throws an error of the operating system, or of node:sqlite, when the file cannot be used
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
    // SQLite says only that the file cannot be opened; the operating system says why.
    closeSync(openSync(path, "a"))
    throw error
  }
}
