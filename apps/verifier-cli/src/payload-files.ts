/** Payloads of a folder, found by the SHA-256 of their bytes, whatever the files are named. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { sha256Hex, utf8Decode } from "@runseal/canonical"
import { InputError } from "./input-error.ts"
import { DOCUMENT_LIMITS, readFile } from "./read-input.ts"

/** Files of the folder: the path of each is remembered. */
const MAX_FILES = 100_000

/** The text of the payload with this hash; undefined where no file is one. */
export type Payloads = (hash: string) => string | undefined

/** Reads every file of a folder once, for its hash. Folders within it are not read. Throws InputError. */
export async function payloadFiles(folder: string): Promise<Payloads> {
  const paths = filesOf(folder)
  if (paths.length > MAX_FILES) throw new InputError(`--payloads takes a folder of at most ${MAX_FILES} files.`)
  const byHash = new Map<string, string>()
  for (const path of paths) byHash.set(sha256Hex(await readFile(path, DOCUMENT_LIMITS)), path)
  return hash => {
    const path = byHash.get(hash)
    return path === undefined ? undefined : utf8Decode(readFileSync(path))
  }
}

function filesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(({ name }) => join(folder, name))
  } catch {
    throw new InputError(`--payloads cannot read the folder ${folder}.`)
  }
}
