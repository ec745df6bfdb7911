/** The folder of heads of a process: its own file there, and the id under which the database lists the folder. */
import { randomBytes, randomUUID } from "node:crypto"
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs"
import { hostname } from "node:os"
import { join, resolve } from "node:path"
import type { Config } from "../options/config.ts"
import { isSystemError } from "../options/startup-error.ts"
import type { Database } from "../store/driver/database.ts"
import { FOLDER_ID_FILE, HEADS_DIRECTORY, type HeadFile, openHeadFile, UNFINISHED } from "./head-file.ts"
import { inKeysFolder, syncDirectory } from "./keys-folder.ts"

/** Characters of a folder's machine and path that an operator is shown at most. */
const MAX_LABEL = 200

type HeadsFolder = {
  readonly file: HeadFile
  /** Absent for the embedded database. */
  readonly folder?: { readonly id: string; readonly label: string }
}

/** Makes this process's head file. @throws StartupError when the folder cannot be used */
export function headsOf({ keysDir }: Pick<Config, "keysDir">, { kind }: Pick<Database, "kind">): HeadsFolder {
  const instance = randomUUID()
  const file = openHeadFile(keysDir, instance)
  if (kind !== "postgres") return { file }
  try {
    const label = `${hostname()}:${resolve(keysDir)}`.slice(0, MAX_LABEL)
    return { file, folder: { id: readFolderId(keysDir, instance), label } }
  } catch (error) {
    file.close()
    throw error
  }
}

// The random id of the folder of heads, under which the database lists it. Decision 0110. A copy of the folder must not have the same id,
// because its heads will differ. So the id file also holds its own inode number, which is another one in a copy.

const ID_BYTES = 16
/** `<id, 32 hex> <inode> <birth in nanoseconds; 0 where the file system does not say>\n`. */
const RECORD = /^([0-9a-f]{32}) (\d+) (\d+)\n$/

/**
 * The id of the folder of heads, made on the first call.
 * @param instance unlike that of any other process
 * @throws StartupError when the folder cannot be used
 */
function readFolderId(keysDirectory: string, instance: string): string {
  return inKeysFolder(keysDirectory, () => {
    const directory = join(keysDirectory, HEADS_DIRECTORY)
    const path = join(directory, FOLDER_ID_FILE)
    const made = join(directory, `${FOLDER_ID_FILE}.${instance}${UNFINISHED}`)
    const found = readId(path)
    if (found?.isOwn === true) return found.id
    try {
      makeId(made)
      if (found === undefined) putFirst(made, path)
      else renameSync(made, path)
    } finally {
      rmSync(made, { force: true })
    }
    syncDirectory(directory)
    const id = readId(path)
    if (id === undefined) throw new Error("the id of the heads folder was removed while it was made")
    return id.id
  })
}

/** The id in a file, and whether the file is the original and not a copy; undefined when there is no file. */
function readId(path: string): { readonly id: string; readonly isOwn: boolean } | undefined {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (file === undefined) return undefined
  const [, id, inode, birth] = RECORD.exec(readFileSync(path, "latin1")) ?? []
  if (id === undefined) return { id: "", isOwn: false }
  const sameBirth = birth === "0" || file.birthtimeNs === 0n || birth === `${file.birthtimeNs}`
  return { id, isOwn: inode === `${file.ino}` && sameBirth }
}

function makeId(path: string): void {
  const fd = openSync(path, "wx", 0o600)
  try {
    const { ino, birthtimeNs } = fstatSync(fd, { bigint: true })
    writeSync(fd, `${randomBytes(ID_BYTES).toString("hex")} ${ino} ${birthtimeNs}\n`, 0, "latin1")
    fdatasyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Gives a file its final name unless another process was first. A link has the same inode, as after a rename. */
function putFirst(made: string, path: string): void {
  try {
    linkSync(made, path)
  } catch (error) {
    if (!isSystemError(error) || !(error instanceof Error) || !("code" in error)) throw error
    if (error.code === "EEXIST") return
    if (error.code !== "EPERM" && error.code !== "ENOTSUP") throw error
    // A file system without links.
    renameSync(made, path)
  }
}
