/** The corpus of stored inputs: each has broken this code or similar code, or is the only one that reaches a part of it. corpus/README.md */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type JsonValue, parseStrictJson } from "@runseal/canonical"
import { member, textMember } from "@runseal/core/vocabulary/json-members"
import { vector } from "./authentic.ts"
import { bytesOf, textOf } from "./fuzz-target.ts"

export const CORPUS: string = fileURLToPath(new URL("corpus/", import.meta.url))

export type CorpusInput = { readonly name: string; readonly bytes: Uint8Array }

/** The corpus of a target: the lines of its `.jsonl` file, and the files of its folder. */
export const corpusInputs = (target: string): readonly CorpusInput[] => [
  ...writtenInputs(join(CORPUS, `${target}.jsonl`)),
  ...inputFiles(join(CORPUS, target)),
]

/** The files of a folder in the order of their names; none when there is no such folder. */
export function inputFiles(folder: string): readonly CorpusInput[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).sort()
  return names.map(name => ({ name, bytes: new Uint8Array(readFileSync(join(folder, name))) }))
}

/** Writes an input into a folder of the target's. @returns its path */
export function writeInputFile(folder: string, target: string, name: string, bytes: Uint8Array): string {
  mkdirSync(join(folder, target), { recursive: true })
  const path = join(folder, target, name)
  writeFileSync(path, bytes)
  return path
}

/** One input a line. */
function writtenInputs(path: string): readonly CorpusInput[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, "utf8").trimEnd().split("\n")
  return lines.map(line => {
    const entry = parseStrictJson(line)
    return { name: textMember(entry, "name") ?? "", bytes: bytesIn(entry) }
  })
}

/** `text` in UTF-8, `bytes` with the character of each one's number, or the vector `of` with changes. */
function bytesIn(entry: JsonValue): Uint8Array {
  const [text, of] = [member(entry, "text"), textMember(entry, "of")]
  if (text !== undefined) return bytesOf(writtenOut(text))
  if (of !== undefined) return bytesOf(changed(textOf(vector(of)), member(entry, "replace")))
  return new Uint8Array(Buffer.from(writtenOut(member(entry, "bytes")), "latin1"))
}

/** The text with the first occurrence of each text replaced. */
function changed(text: string, changes: JsonValue | undefined): string {
  if (!Array.isArray(changes)) throw new Error("A changed vector has changes.")
  return changes.reduce<string>((now, change) => {
    const [from, to] = Array.isArray(change) ? change : []
    if (typeof from !== "string" || typeof to !== "string") throw new Error("A change is two texts.")
    if (!now.includes(from)) throw new Error(`The vector does not hold ${from}`)
    return now.replace(from, () => to)
  }, text)
}

/** A text, or a list of its parts. `["ab", 3]` is a part written three times; in `["k#,", 3, "#"]` the third element is replaced by 0, 1, 2. */
function writtenOut(parts: JsonValue | undefined): string {
  if (typeof parts === "string") return parts
  if (!Array.isArray(parts)) throw new Error("An input of the corpus has a text or bytes.")
  return parts.map(part => (Array.isArray(part) ? repeated(part) : writtenOut(part))).join("")
}

function repeated([unit, times, counter]: readonly JsonValue[]): string {
  if (typeof unit !== "string" || typeof times !== "number") throw new Error("A repeated part is a text and a number.")
  if (typeof counter !== "string") return unit.repeat(times)
  return Array.from({ length: times }, (_, number) => unit.replaceAll(counter, `${number}`)).join("")
}
