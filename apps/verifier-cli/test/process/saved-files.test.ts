/** Files as editors and Windows PowerShell save them: one byte order mark changes nothing, and UTF-16 is named. Every kind of file that the command reads. */
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
const VECTORS = fileURLToPath(new URL("../../../../libs/core/vectors/", import.meta.url))

const folder = testFolder("runseal-saved")

const run = (words: readonly string[]) => {
  const env = { ...process.env, RUNSEAL_TRUST_DIR: join(folder, "pinned"), XDG_CONFIG_HOME: folder, HOME: folder }
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...words], { cwd: folder, env })
  return { exit: status, output: `${stdout}${stderr}` }
}

/** A published file, as its bytes are in the repository. */
const shipped = (name: string): Buffer => readFileSync(join(VECTORS, name))
const saved = (name: string, bytes: Uint8Array): string => {
  writeFileSync(join(folder, name), bytes)
  return name
}
const trust = saved("trust.json", shipped("trust.json"))
const record = saved("record.json", shipped("bundles/valid/ok-full.json"))
const close = saved("close.json", shipped("bundles/valid/close.json"))

type Read = readonly [what: string, file: string, words: (file: string) => readonly string[]]
const READ: readonly Read[] = [
  ["a document", "bundles/valid/ok-full.json", file => [file, "--trust", trust]],
  ["an export", "exports/valid/everything.ndjson", file => [file, "--complete", "--trust", trust]],
  ["one document a line", "exports/valid/everything.ndjson", file => [file, "--ndjson", "--trust", trust]],
  ["a trust document", "trust.json", file => [record, "--trust", file]],
  ["a trust document to pin", "trust.json", file => ["trust", "add", file]],
  ["an opening to compare with", "openings/valid/opening.json", file => [close, "--opening", file, "--trust", trust]],
  [
    "a run statement to export",
    "statements/valid/ok-full.json",
    file => ["export", record, "--in-toto", "out", "--envelope", file, "--force", "--trust", trust],
  ],
]

test.each(READ)("%s", (_what, source, words) => {
  const bytes = shipped(source)
  const ending = source.slice(source.lastIndexOf("."))
  const plain = run(words(saved(`a${ending}`, bytes)))
  const marked = run(words(saved(`a${ending}`, Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), bytes]))))
  expect(marked.exit, marked.output).toBe(plain.exit)
  // Exit code 1 would be a verdict too: the file was read.
  expect(plain.exit, plain.output).toBeLessThan(2)
  for (const text of [`\ufeff${bytes}`, `${bytes}`])
    for (const wide of [Buffer.from(text, "utf16le"), Buffer.from(text, "utf16le").swap16()]) {
      const { exit, output } = run(words(saved(`a${ending}`, wide)))
      expect(exit, output).toBe(2)
      expect(output).toContain("UTF-16 text, as > of Windows PowerShell writes it")
    }
})
