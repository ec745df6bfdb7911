/** Small files of the data folder, which several gateways read and write: each is replaced in one step. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

/** Undefined for a file that is not there. */
export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim()
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined
    throw error
  }
}

export function writeWhole(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(`${file}.${process.pid}`, text, { mode: 0o600 })
  renameSync(`${file}.${process.pid}`, file)
}
