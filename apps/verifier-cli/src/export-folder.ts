/** Writes new files. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { ExportedFile } from "@runseal/core/verify/sigstore-export"
import { InputError } from "./exit-answer.ts"
import { errorCode } from "./read-input.ts"

/**
 * Writes every file, in order, into a folder that is created if missing. Without `replace`, nothing is written when one of the
 * files exists; a link is never followed. Throws InputError.
 */
export function writeNewFiles(folder: string, files: readonly ExportedFile[], replace: boolean): void {
  try {
    mkdirSync(folder, { recursive: true })
    const taken = files.find(({ name }) => existsSync(join(folder, name)))
    if (taken !== undefined && !replace)
      throw new InputError(`${join(folder, taken.name)} exists, and nothing was written: add --force to replace it.`)
    for (const { name, bytes } of files) {
      if (replace) rmSync(join(folder, name), { force: true })
      writeFileSync(join(folder, name), bytes, { flag: "wx" })
    }
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new InputError(`The files could not be written to ${folder} (${errorCode(error) ?? "unknown"}).`)
  }
}
