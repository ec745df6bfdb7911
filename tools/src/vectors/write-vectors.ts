import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

/** A file below the vectors' folder. */
export interface VectorFile {
  readonly path: string
  readonly text: string
}

/** What was done: paths below the vectors' folder. */
export interface Written {
  readonly added: readonly string[]
  /** There already, with other contents. When there is one, nothing was written. */
  readonly refused: readonly string[]
}

/**
 * Writes the vectors that are not there yet. A published vector is never changed, because somebody else's implementation
 * may be held against it: when one would have to be, nothing at all is written.
 */
export function writeVectors(folder: string, files: readonly VectorFile[]): Written {
  const placed = files.map(file => ({ ...file, target: join(folder, file.path) }))
  const added = placed.filter(({ target }) => !existsSync(target))
  const refused = placed.filter(({ target, text }) => existsSync(target) && readFileSync(target, "utf8") !== text)
  if (refused.length === 0) {
    for (const { target, text } of added) {
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, text)
    }
  }
  const paths = (list: readonly VectorFile[]): readonly string[] => list.map(({ path }) => path)
  return { added: refused.length === 0 ? paths(added) : [], refused: paths(refused) }
}
