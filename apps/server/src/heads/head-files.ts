/**
 * The folder of heads beside the keys: size and root of the log are stored there each time a record is acknowledged, so that an older or
 * another database in its place is detected. Decision 0110. Each process has a file of its own: no two writers ever share one.
 */
import { randomBytes, randomUUID } from "node:crypto"
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs"
import { hostname } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { encodeHex } from "@runseal/canonical"
import { EMPTY_ROOT } from "@runseal/log/merkle/rfc6962"
import { inKeysFolder, syncDirectory } from "../keys/keys-folder.ts"
import type { Config } from "../options/config.ts"
import { isSystemError, StartupError } from "../options/startup-error.ts"
import type { Database } from "../store/driver/database.ts"
import { makeFolder } from "../store/driver/make-folder.ts"

const HEADS_DIRECTORY = "heads"
/** Suffix of a file that is being made. It becomes a head when it is renamed, and is ignored before. */
export const UNFINISHED = ".tmp"
/** Age after which an unfinished file counts as left behind, in milliseconds. */
const UNFINISHED_MS = 60_000
/** Suffix of a file that another process is about to remove; until it is removed it is a head like any other. */
const TAKEN = ".taken"
/** The file that holds the folder's id. It is no head. */
export const FOLDER_ID_FILE = "id"
/**
 * `<size, 16 digits> <root, 64 hex> <system identifier, 20 digits> <timeline, 10 digits> <table, 20 digits> <term, 10 digits>\n`:
 * of fixed length, so that a write in place overwrites the whole record before it.
 */
const RECORD = /^(\d{16}) ([0-9a-f]{64}) (\d{20}) (\d{10}) (\d{20}) (\d{10})\n$/

/** Identifies the database that held the log: a table in a cluster of PostgreSQL, up to its next promotion. Decision 0110. */
export type Lineage = {
  /** PostgreSQL's system identifier, in decimal; "0" for the embedded database, which no standby can replace. */
  readonly system: string
  /** Rises with each promotion of a standby. */
  readonly timeline: number
  /** Object identifiers of the database and of the table with the head, in decimal: a restored dump makes another table. */
  readonly table: string
  /** Rises with each change of the others that a process has seen. */
  readonly term: number
}

export const NO_LINEAGE: Lineage = { system: "0", timeline: 0, table: "0", term: 0 }

export type RememberedHead = { readonly size: number; readonly root: string; readonly lineage: Lineage }

/** The head of a process that has acknowledged nothing: the empty log, which every log contains. */
const NOTHING: RememberedHead = { size: 0, root: encodeHex(EMPTY_ROOT), lineage: NO_LINEAGE }

export type HeadFile = {
  /** The last head of this process. */
  readonly own: () => RememberedHead
  /**
   * The heads of all processes that use this folder, this one among them, read from their files now; heads of empty logs are left out.
   * @throws StartupError when a file is damaged
   */
  readonly all: () => readonly RememberedHead[]
  /**
   * Makes a head durable in place of the last one. Called after commit and before any answer, once the last call is settled.
   * Rejects a smaller head than the last one. The caller has checked that the log of this head contains the last one.
   */
  readonly remember: (head: RememberedHead) => Promise<void>
  /** Resolves when the last head is durable: one whose write failed is written again. To be awaited before a commit. */
  readonly ready: () => Promise<void>
  /**
   * Removes the files of other processes, whose heads are contained in this one's; a process that is alive makes its file again.
   * @param isContained whether the current log contains a head; the file of a head that it does not contain stays
   */
  readonly tidy: (isContained: (head: RememberedHead) => Promise<boolean>) => Promise<void>
  /** Whether the folder exists and its permissions allow a write. Nothing is written to find out. */
  readonly writable: () => boolean
  readonly close: () => void
}

const isGone = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"

/** A stored head; undefined when another process has removed the file meanwhile, which then contains it. */
function readHead(path: string): RememberedHead | undefined {
  let text: string
  try {
    text = readFileSync(path, "latin1")
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
  const [, size, root = "", system = "", timeline, table = "", term] = RECORD.exec(text) ?? []
  if (size === undefined)
    throw new StartupError(
      `${path} is damaged: how far the log had grown is not known. Check the log, then remove the file.`,
    )
  const lineage = {
    system: `${BigInt(system)}`,
    timeline: Number(timeline),
    table: `${BigInt(table)}`,
    term: Number(term),
  }
  return { size: Number(size), root, lineage }
}

const digits = (value: number | string, width: number): string => `${value}`.padStart(width, "0")

function recordOf({ size, root, lineage: { system, timeline, table, term } }: RememberedHead): string {
  const place = [digits(system, 20), digits(timeline, 10), digits(table, 20), digits(term, 10)]
  return `${[digits(size, 16), root, ...place].join(" ")}\n`
}

/** Makes a head file that is complete when its name appears. @returns a descriptor with which it is overwritten in place */
function createHead(directory: string, path: string, head: RememberedHead): number {
  const unfinished = `${path}${UNFINISHED}`
  const fd = openSync(unfinished, "w", 0o600)
  try {
    writeSync(fd, recordOf(head), 0, "latin1")
    fdatasyncSync(fd)
    renameSync(unfinished, path)
    syncDirectory(directory)
    return fd
  } catch (error) {
    closeSync(fd)
    rmSync(unfinished, { force: true })
    throw error
  }
}

function takesFiles(directory: string): boolean {
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
    return statSync(directory).isDirectory()
  } catch {
    return false
  }
}

/** Names of the heads in a folder. */
const headNames = (directory: string): readonly string[] =>
  readdirSync(directory).filter(name => !name.endsWith(UNFINISHED) && name !== FOLDER_ID_FILE)

/** The heads in files, without those of empty logs. */
const readHeads = (directory: string, names: readonly string[]): readonly RememberedHead[] =>
  names.flatMap(name => {
    const head = readHead(join(directory, name))
    return head === undefined || head.size === 0 ? [] : [head]
  })

/**
 * The heads in a keys folder, for a command that makes none; there are none where there is no folder.
 * @throws StartupError when a file is damaged or cannot be read
 */
export const rememberedHeads = (keysDirectory: string): readonly RememberedHead[] =>
  inKeysFolder(keysDirectory, () => {
    const directory = join(keysDirectory, HEADS_DIRECTORY)
    return existsSync(directory) ? readHeads(directory, headNames(directory)) : []
  })

/** Removes unfinished files of processes that ended while they made them. */
function removeUnfinished(directory: string): void {
  for (const name of readdirSync(directory).filter(name => name.endsWith(UNFINISHED))) {
    const path = join(directory, name)
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (made !== undefined && Date.now() - made > UNFINISHED_MS) rmSync(path, { force: true })
  }
}

/** Renames a file of another process, so that it can be read and then removed; undefined when it is gone. */
function takeHead(path: string, instance: string): string | undefined {
  const at = `${path}.${instance}${TAKEN}`
  try {
    renameSync(path, at)
    return at
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

/** Resolves when all data written to a descriptor is on the disk. */
type SyncFile = (fd: number) => Promise<void>

/**
 * Makes this process's file, with the head of the empty log. The files of other processes stay until `tidy` removes them.
 * @param sync runs outside the event loop, so that a slow disk blocks no other request
 * @throws StartupError when the folder cannot be used, its disk is full, or a head in it is damaged
 */
export function openHeadFile(keysDirectory: string, instance: string, sync: SyncFile = promisify(fdatasync)): HeadFile {
  return inKeysFolder(keysDirectory, () => openOwnHead(keysDirectory, instance, sync))
}

function openOwnHead(keysDirectory: string, instance: string, sync: SyncFile): HeadFile {
  const directory = join(keysDirectory, HEADS_DIRECTORY)
  makeFolder(directory)
  removeUnfinished(directory)
  readHeads(directory, headNames(directory))
  const path = join(directory, instance)
  let own = NOTHING
  let fd: number | undefined = createHead(directory, path, own)
  let isDurable = true
  const closeFile = (): void => {
    if (fd !== undefined) closeSync(fd)
    fd = undefined
  }
  const write = async (): Promise<void> => {
    isDurable = false
    if (fd !== undefined) {
      writeSync(fd, recordOf(own), 0, "latin1")
      await sync(fd)
    }
    // Checked after the write: a process that renamed the file before has read this head, or else the file is made again here.
    if (fd === undefined || !existsSync(path)) {
      closeFile()
      fd = createHead(directory, path, own)
    }
    isDurable = true
  }
  return {
    own: () => own,
    all: () => readHeads(directory, headNames(directory)),
    remember: async head => {
      if (head.size < own.size) throw new Error("a head that would take the log back is not remembered")
      own = head
      await write()
    },
    ready: async () => {
      if (!isDurable) await write()
    },
    tidy: async isContained => {
      for (const name of headNames(directory).filter(name => name !== instance)) {
        const at = takeHead(join(directory, name), instance)
        const head = at === undefined ? undefined : readHead(at)
        if (at !== undefined && (head === undefined || (await isContained(head)))) rmSync(at, { force: true })
      }
    },
    writable: () => takesFiles(directory),
    close: () => {
      closeFile()
      if (own.size === 0) rmSync(path, { force: true })
    },
  }
}

/** Characters of a folder's machine and path that an operator is shown at most. */
const MAX_LABEL = 200

/** How a database server knows a folder. */
export type FolderName = { readonly id: string; readonly label: string }

export type HeadsFolder = {
  readonly file: HeadFile
  /** Absent for the embedded database. */
  readonly folder?: FolderName
}

/** Makes this process's head file. @throws StartupError when the folder cannot be used */
export function openHeadsFolder({ keysDir }: Pick<Config, "keysDir">, { kind }: Pick<Database, "kind">): HeadsFolder {
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
const ID_RECORD = /^([0-9a-f]{32}) (\d+) (\d+)\n$/

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
  const [, id, inode, birth] = ID_RECORD.exec(readFileSync(path, "latin1")) ?? []
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
