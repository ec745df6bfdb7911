/** Files in the keys folder that only their owner may read, each written whole or not at all. */
import { randomBytes } from "node:crypto"
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { parseStrictJson } from "@runseal/canonical"
import * as v from "valibot"
import { StartupError } from "../options/startup-error.ts"
import { inKeysFolder, syncDirectory } from "./keys-folder.ts"

const isError = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code

/**
 * The JSON object in a file; undefined when there is no file, or another process is removing it.
 * @throws StartupError when the file cannot be read, is damaged or open to others
 */
export function readOwnJson<Schema extends v.GenericSchema>(
  directory: string,
  name: string,
  schema: Schema,
): v.InferOutput<Schema> | undefined {
  const path = join(directory, name)
  const bytes = inKeysFolder(directory, () => readOwnFile(path))
  if (bytes === undefined) return undefined
  let parsed: v.SafeParseResult<Schema>
  try {
    parsed = v.safeParse(schema, parseStrictJson(bytes))
  } catch (cause) {
    throw new StartupError(`${path} is damaged; restore it from your backup.`, { cause })
  }
  if (!parsed.success) throw new StartupError(`${path} is not a key file of this release; restore it from your backup.`)
  return parsed.output
}

function readOwnFile(path: string): Uint8Array | undefined {
  const fd = existsSync(path) ? openIfThere(path) : undefined
  if (fd === undefined) return undefined
  try {
    if ((fstatSync(fd).mode & 0o077) !== 0)
      throw new StartupError(`${path} can be read by other users; set its mode to 0600 and consider the keys exposed.`)
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r")
  } catch (error) {
    if (isError(error, "ENOENT")) return undefined
    throw error
  }
}

/** Writes a file that is complete when its name appears; an existing file is left as it is. @throws an error of the operating system */
export function storeOwnJson(directory: string, name: string, content: object): void {
  writeWhole(directory, name, content, (temporary, path) => {
    try {
      linkSync(temporary, path)
    } catch (error) {
      if (!isError(error, "EEXIST")) throw error
    }
  })
}

/** Writes a file in place of the one before, if there is one: a reader finds one of the two. @throws an error of the operating system */
export function replaceOwnJson(directory: string, name: string, content: object): void {
  writeWhole(directory, name, content, renameSync)
}

function writeWhole(
  directory: string,
  name: string,
  content: object,
  give: (temporary: string, path: string) => void,
): void {
  const path = join(directory, name)
  const temporary = `${path}.${randomBytes(8).toString("hex")}`
  const fd = openSync(temporary, "wx", 0o600)
  try {
    writeSync(fd, JSON.stringify(content, undefined, 2))
    fsyncSync(fd)
    give(temporary, path)
  } finally {
    closeSync(fd)
    rmSync(temporary, { force: true })
  }
  syncDirectory(directory)
}
