/**
 * Remembers beside the keys how far the log had grown when a record was last acknowledged, so that an older database put
 * in its place is recognised. FORMATS §6. Each process has a file of its own: no two writers ever share one.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { encodeHex } from "@runseal/canonical"
import { StartupError } from "../startup-error.ts"
import { inKeysFolder, syncDirectory } from "./keys-folder.ts"

const HEADS_DIRECTORY = "heads"
/** A file that is being made; it becomes a head by its rename and says nothing before. */
const UNFINISHED = ".tmp"
/** A file another process has taken to tidy it away; until then it is a head like any other. */
const TAKEN = ".taken"
/** `<size, 16 digits> <root, 64 hex>\n`: of fixed length, so that a write in place never leaves a tail of the last one. */
const RECORD = /^(\d{16}) ([0-9a-f]{64})\n$/

export type RememberedHead = { readonly size: number; readonly root: string }

export type HeadFile = {
  /** The largest head any process remembered before this one started; undefined on a first start. */
  readonly remembered: RememberedHead | undefined
  /**
   * Makes a head durable. Called after commit and before any answer, once the last one is.
   * Rejects a head that contradicts what is remembered.
   */
  readonly remember: (size: number, root: Uint8Array) => Promise<void>
  /** Whether a head is older than one that is remembered here, or another of the same size: whoever goes on from it forks the log. */
  readonly contradicts: (size: number, root: Uint8Array) => boolean
  /** Whether the folder is there and takes a head, as far as the system tells without writing. */
  readonly writable: () => boolean
  readonly close: () => void
}

const larger = (a: RememberedHead | undefined, b: RememberedHead | undefined): RememberedHead | undefined =>
  a === undefined || (b !== undefined && b.size > a.size) ? b : a

const isGone = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"

/** A stored head; undefined when another process has tidied it away meanwhile, and so knows it. */
function readHead(path: string): RememberedHead | undefined {
  let text: string
  try {
    text = readFileSync(path, "latin1")
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
  const match = RECORD.exec(text)
  if (match?.[1] === undefined || match[2] === undefined)
    throw new StartupError(
      `${path} is damaged: how far the log had grown is not known. Check the log, then remove the file.`,
    )
  return { size: Number(match[1]), root: match[2] }
}

const recordOf = ({ size, root }: RememberedHead): string => `${String(size).padStart(16, "0")} ${root}\n`

/** Makes a head file that is whole from the moment it can be seen. Gives a descriptor to write it anew in place. */
function createHead(directory: string, path: string, head: RememberedHead): number {
  const unfinished = `${path}${UNFINISHED}`
  const fd = openSync(unfinished, "w", 0o600)
  writeSync(fd, recordOf(head), 0, "latin1")
  fdatasyncSync(fd)
  renameSync(unfinished, path)
  syncDirectory(directory)
  return fd
}

function takesFiles(directory: string): boolean {
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
    return statSync(directory).isDirectory()
  } catch {
    return false
  }
}

/** Takes a file of another process out of its place and gives what it says; its owner, if it lives, makes it anew. */
function takeHead(path: string, instance: string): { readonly head: RememberedHead | undefined; readonly at: string } {
  const at = `${path}.${instance}${TAKEN}`
  try {
    renameSync(path, at)
  } catch (error) {
    if (isGone(error)) return { head: undefined, at }
    throw error
  }
  return { head: readHead(at), at }
}

/** Resolves when what was written to a descriptor is on the disk. */
export type SyncFile = (fd: number) => Promise<void>

/**
 * Opens this process's file after reading all others, which it then stands for: they are tidied away.
 * @param sync waits off the event loop, so that a slow disk keeps nobody else waiting
 * @throws StartupError when the folder cannot be used or a head in it is damaged
 */
export function openHeadFile(keysDirectory: string, instance: string, sync: SyncFile = promisify(fdatasync)): HeadFile {
  return inKeysFolder(keysDirectory, () => openOwnHead(keysDirectory, instance, sync))
}

function openOwnHead(keysDirectory: string, instance: string, sync: SyncFile): HeadFile {
  const directory = join(keysDirectory, HEADS_DIRECTORY)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const others = readdirSync(directory).filter(name => !name.endsWith(UNFINISHED))
  const remembered = others.map(name => readHead(join(directory, name))).reduce(larger, undefined)
  const path = join(directory, instance)
  let fd: number | undefined
  const create = (head: RememberedHead): void => {
    if (fd !== undefined) closeSync(fd)
    fd = undefined
    fd = createHead(directory, path, head)
  }
  const write = async (head: RememberedHead): Promise<void> => {
    if (fd === undefined) return create(head)
    writeSync(fd, recordOf(head), 0, "latin1")
    await sync(fd)
    // Looked at after the write: whoever took the file before has read this head, or it is made anew here.
    if (!existsSync(path)) create(head)
  }
  let known = remembered
  if (known !== undefined) {
    create(known)
    for (const name of others) {
      const taken = takeHead(join(directory, name), instance)
      known = larger(known, taken.head)
      if (known !== undefined) create(known)
      rmSync(taken.at, { force: true })
    }
  }
  const contradicts = (size: number, root: Uint8Array): boolean =>
    known !== undefined && (size < known.size || (size === known.size && encodeHex(root) !== known.root))
  return {
    remembered,
    remember: async (size, root) => {
      if (contradicts(size, root)) throw new Error("a head that would take the log back is not remembered")
      known = { size, root: encodeHex(root) }
      await write(known)
    },
    contradicts,
    writable: () => takesFiles(directory),
    close: () => {
      if (fd !== undefined) closeSync(fd)
    },
  }
}
