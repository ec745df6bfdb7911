/** Makes a folder and those above it. */
import { mkdirSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"

/**
 * Makes a folder for this user alone; one that exists stays as it is. `mkdirSync` with `recursive` is not used: below a folder in which
 * none can be made, such as /proc, it never returns.
 * @throws an error of the operating system
 */
export function makeFolder(path: string): void {
  const missing: string[] = []
  let parent = resolve(path)
  while (statSync(parent, { throwIfNoEntry: false }) === undefined) {
    missing.unshift(parent)
    parent = dirname(parent)
  }
  for (const folder of missing) mkdirIfMissing(folder)
  if (missing.length === 0 && !statSync(path).isDirectory()) mkdirSync(path)
}

/** Of two processes that make the same folder at once, the second finds it. */
function mkdirIfMissing(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
  }
}
