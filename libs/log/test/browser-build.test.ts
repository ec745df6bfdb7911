import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { utf8Encode } from "@runseal/canonical"
import { build } from "esbuild"
import { describe, expect, test } from "vitest"
import { signedNote } from "../src/entries/log-signing.ts"
import { noteKey } from "../src/notes/signed-note.ts"
import { entryRules } from "./entry-rules.ts"
import type * as library from "./library.ts"
import { checkpointKey } from "./own-log.ts"

/** Built as for a page: no Node module resolves, and `#signatures` and `#sha256` are the portable ones. */
async function browserBuild(): Promise<{ readonly sources: readonly string[]; readonly api: typeof library }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL("./library.ts", import.meta.url))],
    bundle: true,
    platform: "browser",
    format: "esm",
    write: false,
    metafile: true,
  })
  const folder = mkdtempSync(join(tmpdir(), "runseal-browser-"))
  const file = join(folder, "library.mjs")
  writeFileSync(file, outputFiles[0]!.text)
  try {
    return { sources: Object.keys(metafile.inputs), api: await import(/* @vite-ignore */ pathToFileURL(file).href) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const { sources, api } = await browserBuild()

describe("the library as a browser gets it", () => {
  test("is made of the portable sources alone", () => {
    expect(sources.filter(source => source.endsWith(".node.ts"))).toEqual([])
    expect(sources.some(source => source.endsWith("signatures.noble.ts"))).toBe(true)
  })

  test("verifies signed notes", () => {
    const key = noteKey("runseal.local", "ed25519", checkpointKey.raw)
    const note = signedNote("runseal.local\n", key, checkpointKey.sign)
    expect(api.verifyNote(note, [key])?.text).toBe("runseal.local\n")
    expect(api.verifyEd25519(checkpointKey.raw, utf8Encode("other"), checkpointKey.sign(utf8Encode("one")))).toBe(false)
  })

  entryRules(api)
})
