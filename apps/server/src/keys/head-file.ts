/**
 * Remembers beside the keys how far the log had grown when a record was last acknowledged, so that another log in its
 * place is recognised. Decision 0110. Each process has a file of its own: no two writers ever share one.
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
import { EMPTY_ROOT } from "@runseal/log/merkle/rfc6962"
import { StartupError } from "../options/startup-error.ts"
import { inKeysFolder, syncDirectory } from "./keys-folder.ts"

export const HEADS_DIRECTORY = "heads"
/** A file that is being made; it becomes a head by its rename and says nothing before. */
export const UNFINISHED = ".tmp"
/** A file that is being made is finished or given up within so long a time, in milliseconds. */
const UNFINISHED_MS = 60_000
/** A file another process has taken to tidy it away; until then it is a head like any other. */
const TAKEN = ".taken"
/** Names the folder to the database: no head. */
export const FOLDER_ID_FILE = "id"
/**
 * `<size, 16 digits> <root, 64 hex> <system identifier, 20 digits> <timeline, 10 digits> <table, 20 digits> <term, 10 digits>\n`:
 * of fixed length, so that a write in place never leaves a tail of the last one.
 */
const RECORD = /^(\d{16}) ([0-9a-f]{64}) (\d{20}) (\d{10}) (\d{20}) (\d{10})\n$/

/** Which database the log was in: the same tables of the same cluster of PostgreSQL, and not promoted since. Decision 0110. */
export type Lineage = {
  /** PostgreSQL's system identifier, in decimal; "0" for the embedded database, which has no other to take its place. */
  readonly system: string
  /** Rises with each promotion of a standby. */
  readonly timeline: number
  /** Which table of which database holds the head, in decimal: a dump that is restored makes another table. */
  readonly table: string
  /** Rises with each change of the others that a process has seen. */
  readonly term: number
}

export const NO_LINEAGE: Lineage = { system: "0", timeline: 0, table: "0", term: 0 }

export type RememberedHead = { readonly size: number; readonly root: string; readonly lineage: Lineage }

/** Where a process that has remembered nothing begins: every log contains the empty one. */
const NOTHING: RememberedHead = { size: 0, root: encodeHex(EMPTY_ROOT), lineage: NO_LINEAGE }

export type HeadFile = {
  /** What this process remembers last. */
  readonly own: () => RememberedHead
  /**
   * What all processes of this folder remember, this one among them, as their files say now; empty logs are left out.
   * @throws StartupError when a file is damaged
   */
  readonly all: () => readonly RememberedHead[]
  /**
   * Makes a head durable in place of the last one. Called after commit and before any answer, once the last call is settled.
   * Rejects a smaller head than the last one. The caller has found that the log of this head contains what is remembered.
   */
  readonly remember: (head: RememberedHead) => Promise<void>
  /** Resolves when the last head is durable: one whose write failed is written again. To be awaited before a commit. */
  readonly ready: () => Promise<void>
  /**
   * Removes the files of other processes, which this one then stands for; a process that lives makes its file anew.
   * @param isContained whether the log that goes on contains a head; the file of one that it does not contain stays
   */
  readonly tidy: (isContained: (head: RememberedHead) => Promise<boolean>) => Promise<void>
  /** Whether the folder is there and takes a head, as far as the system tells without writing. */
  readonly writable: () => boolean
  readonly close: () => void
}

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

/** Makes a head file that is whole from the moment it can be seen. Gives a descriptor to write it anew in place. */
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

/** The heads of files that are there and say something. */
const readHeads = (directory: string, names: readonly string[]): readonly RememberedHead[] =>
  names.flatMap(name => {
    const head = readHead(join(directory, name))
    return head === undefined || head.size === 0 ? [] : [head]
  })

/** Removes what processes left that ended while they made a file. */
function removeUnfinished(directory: string): void {
  for (const name of readdirSync(directory).filter(name => name.endsWith(UNFINISHED))) {
    const path = join(directory, name)
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (made !== undefined && Date.now() - made > UNFINISHED_MS) rmSync(path, { force: true })
  }
}

/** Takes a file of another process out of its place; undefined when it is gone. */
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

/** Resolves when what was written to a descriptor is on the disk. */
type SyncFile = (fd: number) => Promise<void>

/**
 * Makes this process's file, which says nothing yet. All others stay until they are tidied away.
 * @param sync waits off the event loop, so that a slow disk keeps nobody else waiting
 * @throws StartupError when the folder cannot be used, its disk is full, or a head in it is damaged
 */
export function openHeadFile(keysDirectory: string, instance: string, sync: SyncFile = promisify(fdatasync)): HeadFile {
  return inKeysFolder(keysDirectory, () => openOwnHead(keysDirectory, instance, sync))
}

function openOwnHead(keysDirectory: string, instance: string, sync: SyncFile): HeadFile {
  const directory = join(keysDirectory, HEADS_DIRECTORY)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
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
    // Looked at after the write: whoever took the file before has read this head, or it is made anew here.
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
