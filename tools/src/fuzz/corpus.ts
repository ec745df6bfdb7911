/** Inputs kept for good: each has tripped this code or code like it, or is the only way to a corner of it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** One folder for each target; a file's name says why it is kept. */
export const CORPUS: string = fileURLToPath(new URL("corpus/", import.meta.url))

export type KeptInput = { readonly name: string; readonly bytes: Uint8Array }

/** The kept inputs of a target in the order of their names; none when it has no folder. */
export function keptInputs(target: string, folder: string = CORPUS): readonly KeptInput[] {
  const place = join(folder, target)
  if (!existsSync(place)) return []
  return readdirSync(place)
    .sort()
    .map(name => ({ name, bytes: new Uint8Array(readFileSync(join(place, name))) }))
}

/** Writes an input into a folder of the target's. @returns its path */
export function keepInput(folder: string, target: string, name: string, bytes: Uint8Array): string {
  mkdirSync(join(folder, target), { recursive: true })
  const path = join(folder, target, name)
  writeFileSync(path, bytes)
  return path
}
