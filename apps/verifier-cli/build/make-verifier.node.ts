/**
 * Makes the verifier one file that runs alone, and beside it `sources.json`: which files it was made of and their digest.
 * In a checkout the starting file holds that against the files as they are, so that no older verifier judges a document.
 *
 *   node make-verifier.node.ts <file to write>
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { sha256Hex } from "@runseal/canonical"
import { buildSync } from "esbuild"

const PACKAGE = fileURLToPath(new URL("..", import.meta.url))
/** They decide how imports are resolved, which the list of bundled files does not show. */
const SETTINGS = [
  "package.json",
  "../../libs/core/package.json",
  "../../libs/log/package.json",
  "../../libs/canonical/package.json",
]

const outfile = resolve(process.argv[2] ?? "")
const stamp = join(dirname(outfile), "sources.json")

const digestOf = (path: string): string => sha256Hex(readFileSync(path))
const digestOfAll = (paths: readonly string[]): string =>
  sha256Hex(paths.map(path => `${digestOf(join(PACKAGE, path))} ${path}\n`).join(""))

function bundle(): readonly string[] {
  const { metafile } = buildSync({
    absWorkingDir: PACKAGE,
    entryPoints: ["src/main.ts"],
    outfile,
    bundle: true,
    minify: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    logLevel: "error",
    metafile: true,
    alias: { "node:child_process": "./build/no-processes.cjs" },
  })
  const made = [...Object.keys(metafile.inputs), relative(PACKAGE, fileURLToPath(import.meta.url)), ...SETTINGS]
  return made.sort()
}

rmSync(stamp, { force: true })
const sources = bundle()
const sources_digest = digestOfAll(sources)
const built_digest = digestOf(outfile)
// Built twice: a file that changed while it was read leaves no stamp, and the sources run.
bundle()
if (digestOfAll(sources) === sources_digest && digestOf(outfile) === built_digest)
  writeFileSync(stamp, JSON.stringify({ sources, sources_digest, built_digest }))
