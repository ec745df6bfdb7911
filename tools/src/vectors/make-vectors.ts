/**
 * Publishes the vectors of libs/core: `node tools/src/vectors/make-vectors.ts`. They are made by the fixtures of core's own
 * tests, which no other room may import, so they are run as a program.
 */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { type JsonValue, parseStrictJson } from "@runseal/canonical"
import { member, textMember } from "@runseal/core/vocabulary/json-members"

const CORE = fileURLToPath(new URL("../../../libs/core/", import.meta.url))
/** All vectors together take about 3 MB. */
const MAX_OUTPUT_BYTES = 67_108_864

/** A file below the vectors' folder. */
export interface VectorFile {
  readonly path: string
  readonly text: string
}

/** The result: paths below the vectors' folder. */
export interface Written {
  readonly added: readonly string[]
  /** Files that exist with other contents. When there is one, nothing was written. */
  readonly refused: readonly string[]
}

/**
 * Writes the vectors that do not exist yet. A published vector is never changed, because other implementations
 * may be tested with it: when one would have to change, nothing at all is written.
 */
export function writeVectors(folder: string, files: readonly VectorFile[]): Written {
  const targets = files.map(file => ({ ...file, target: join(folder, file.path) }))
  const added = targets.filter(({ target }) => !existsSync(target))
  const refused = targets.filter(({ target, text }) => existsSync(target) && readFileSync(target, "utf8") !== text)
  if (refused.length === 0) {
    for (const { target, text } of added) {
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, text)
    }
  }
  const paths = (list: readonly VectorFile[]): readonly string[] => list.map(({ path }) => path)
  return { added: refused.length === 0 ? paths(added) : [], refused: paths(refused) }
}

function fileOf(value: JsonValue): VectorFile {
  const [path, text] = [textMember(value, "path"), textMember(value, "text")]
  if (path === undefined || text === undefined) throw new Error("A vector has a path and a text.")
  return { path, text }
}

function main(): void {
  const program = join(CORE, "test/fixtures/vectors/print-vectors.ts")
  const printed = parseStrictJson(execFileSync(process.execPath, [program], { maxBuffer: MAX_OUTPUT_BYTES }))
  const files = member(printed, "files")
  const readme = textMember(printed, "readme")
  if (!Array.isArray(files) || readme === undefined) throw new Error("The fixtures gave no vectors.")

  const folder = join(CORE, "vectors")
  const { added, refused } = writeVectors(folder, files.map(fileOf))
  for (const path of added) console.log(`added ${path}`)
  for (const path of refused) console.error(`refused ${path}: a published vector is never changed`)
  if (refused.length > 0) process.exitCode = 1
  else writeFileSync(join(folder, "README.md"), readme)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main()
