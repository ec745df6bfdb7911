/**
 * Publishes the vectors of libs/core: `node tools/src/vectors/make-vectors.ts`. They come from the fixtures of core's own
 * tests, which no other room may import; so they are asked for as a program.
 */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { JsonValue } from "@runseal/canonical"
import { parseStrictJson } from "@runseal/canonical"
import { member, textMember } from "@runseal/core/vocabulary/json-members"
import type { VectorFile } from "./write-vectors.ts"
import { writeVectors } from "./write-vectors.ts"

const CORE = fileURLToPath(new URL("../../../libs/core/", import.meta.url))
/** All vectors together take about 3 MB. */
const MAX_OUTPUT_BYTES = 67_108_864

function fileOf(value: JsonValue): VectorFile {
  const [path, text] = [textMember(value, "path"), textMember(value, "text")]
  if (path === undefined || text === undefined) throw new Error("A vector has a path and a text.")
  return { path, text }
}

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
