/** What can be wrong with the data folder of the embedded database, which does not say why it cannot open or write; for the operator. */
import { statfsSync } from "node:fs"

/** Without room for the next segment of its write-ahead log, 16 MiB, the database does not open. */
const LEAST_BYTES = 16 * 1024 * 1024

/** Whether the disk of a folder has too little room; false where that is not known. */
export function lacksRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize < LEAST_BYTES
  } catch {
    return false
  }
}

/** What to do about it, for the operator. */
export const noRoom = (folder: string): string =>
  `The disk of the data folder ${folder} is full: make room, ${LEAST_BYTES / 1024 / 1024} MiB at least, and start again.`

/** Of a database whose files cannot be what it wrote. */
export const damaged = (dataDir: string): string =>
  `The embedded database cannot be opened: the files in ${dataDir} are damaged or not all there; restore that folder from your backup.`
