/**
 * Bundles the verifier into one file, and writes `sources.json` beside it: its source files and their digest. In a checkout
 * bin/verifier.cjs compares that with the present files, so that no outdated verifier runs.
 *
 *   node make-verifier.node.ts <file to write>
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { sha256Hex } from "@runseal/canonical"
import { buildSync } from "esbuild"

const PACKAGE = fileURLToPath(new URL("..", import.meta.url))
/** They decide how imports are resolved; the bundler does not list them. */
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
// Built twice: if a file changed meanwhile, no stamp is written, and bin/verifier.cjs runs the sources.
bundle()
if (digestOfAll(sources) === sources_digest && digestOf(outfile) === built_digest)
  writeFileSync(stamp, JSON.stringify({ sources, sources_digest, built_digest }))
