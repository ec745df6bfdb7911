/** The documents behind the arguments of one command: files and addresses, and the files of folders. */
import { type Dirent, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { InputError } from "./input-error.ts"
import { isFolder, isStream } from "./read-input.ts"

/** Documents of one command: a row of each is held until the table is printed. */
const MAX_DOCUMENTS = 100_000
/** Folders within a folder. */
const MAX_DEPTH = 32
/** Files of a folder that are documents, or hold one a line, by their names. */
const DOCUMENT_NAME = /\.(?:json|pdf|ndjson(?:\.gz|\.zst)?)$/i

export type DocumentFile = {
  readonly path: string
  /** Why it is not read. */
  readonly problem?: string
}

export type DocumentFiles = {
  readonly files: readonly DocumentFile[]
  /** What folders hold besides, and is not looked at. */
  readonly others: readonly string[]
}

/** The documents behind arguments, those of a folder in the order of their names. Throws InputError. */
export function documentFiles(documents: readonly string[]): DocumentFiles {
  const files: DocumentFile[] = []
  const others: string[] = []
  for (const argument of documents) {
    if (isStream(argument)) throw new InputError(`${argument} holds one document a line: verify it by itself.`)
    if (!isFolder(argument)) files.push({ path: argument })
    else {
      const before = files.length
      takeFolder(argument, 0, files, others)
      if (files.length === before) throw new InputError(`The folder ${argument} holds no .json and no .pdf file.`)
    }
    if (files.length + others.length > MAX_DOCUMENTS)
      throw new InputError(`At most ${MAX_DOCUMENTS} documents are verified at once.`)
  }
  return { files, others }
}

function takeFolder(folder: string, depth: number, files: DocumentFile[], others: string[]): void {
  for (const entry of entriesOf(folder, depth)) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) takeFolder(path, depth + 1, files, others)
    else if (!DOCUMENT_NAME.test(entry.name)) others.push(path)
    else files.push({ path, ...problemOf(path) })
    if (files.length + others.length > MAX_DOCUMENTS) return
  }
}

function entriesOf(folder: string, depth: number): readonly Dirent[] {
  if (depth > MAX_DEPTH) throw new InputError(`${folder} is more than ${MAX_DEPTH} folders deep: verify it by itself.`)
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch {
    throw new InputError(`The folder ${folder} could not be read.`)
  }
}

/** Reading anything but a file may never end; a link to a folder may lead back to it. */
function problemOf(path: string): { readonly problem?: string } {
  if (path.includes("\ufffd")) return { problem: "its name is not valid UTF-8: rename it" }
  if (isFolder(path)) return { problem: "it is a link to a folder, which is not followed: verify it by itself" }
  if (isSpecial(path)) return { problem: "it is no regular file" }
  return isStream(path) ? { problem: "it holds one document a line: verify it by itself" } : {}
}

/** Whether a path names a pipe, a device or a socket; not one that is not there, of which reading says so. */
function isSpecial(path: string): boolean {
  try {
    return !statSync(path).isFile()
  } catch {
    return false
  }
}
