/** Inputs kept for good: each has tripped this code or code like it, or is the only way to a corner of it. corpus/README.md */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type JsonValue, parseStrictJson } from "@runseal/canonical"
import { member, textMember } from "@runseal/core/vocabulary/json-members"
import { bytesOf } from "./fuzz-target.ts"

export const CORPUS: string = fileURLToPath(new URL("corpus/", import.meta.url))

export type KeptInput = { readonly name: string; readonly bytes: Uint8Array }

/** The kept inputs of a target: the lines of its `.jsonl` file, and the files of its folder. */
export const keptInputs = (target: string): readonly KeptInput[] => [
  ...writtenInputs(join(CORPUS, `${target}.jsonl`)),
  ...inputFiles(join(CORPUS, target)),
]

/** The files of a folder in the order of their names; none when there is no such folder. */
export function inputFiles(folder: string): readonly KeptInput[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).sort()
  return names.map(name => ({ name, bytes: new Uint8Array(readFileSync(join(folder, name))) }))
}

/** Writes an input into a folder of the target's. @returns its path */
export function keepInput(folder: string, target: string, name: string, bytes: Uint8Array): string {
  mkdirSync(join(folder, target), { recursive: true })
  const path = join(folder, target, name)
  writeFileSync(path, bytes)
  return path
}

/** One input a line, with `text` in UTF-8 or `bytes`, each the character of its number. */
function writtenInputs(path: string): readonly KeptInput[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, "utf8").trimEnd().split("\n")
  return lines.map(line => {
    const entry = parseStrictJson(line)
    const [text, bytes] = [member(entry, "text"), member(entry, "bytes")]
    return {
      name: textMember(entry, "name") ?? "",
      bytes: text === undefined ? new Uint8Array(Buffer.from(writtenOut(bytes), "latin1")) : bytesOf(writtenOut(text)),
    }
  })
}

/** A text, or a list of its parts. `["ab", 3]` is a part written three times; in `["k#,", 3, "#"]` the third element stands for 0, 1, 2. */
function writtenOut(parts: JsonValue | undefined): string {
  if (typeof parts === "string") return parts
  if (!Array.isArray(parts)) throw new Error("A kept input has a text or bytes.")
  return parts.map(part => (Array.isArray(part) ? repeated(part) : writtenOut(part))).join("")
}

function repeated([unit, times, counter]: readonly JsonValue[]): string {
  if (typeof unit !== "string" || typeof times !== "number") throw new Error("A repeated part is a text and a number.")
  if (typeof counter !== "string") return unit.repeat(times)
  return Array.from({ length: times }, (_, number) => unit.replaceAll(counter, `${number}`)).join("")
}
