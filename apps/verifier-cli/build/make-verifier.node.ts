/**
 * Bundles the verifier into one file, and stamps it: in a checkout bin/verifier.cjs compares the stamp with the present files, so that
 * no outdated verifier runs.
 *
 *   node make-verifier.node.ts <file to write>
 */
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { buildSync } from "esbuild"
import { type Built, buildStamped } from "../../../tools/src/packing/build-stamp.ts"

const PACKAGE = fileURLToPath(new URL("..", import.meta.url))
/** They decide how imports are resolved; the bundler does not list them. */
const SETTINGS = [
  "package.json",
  "../../libs/core/package.json",
  "../../libs/policy/package.json",
  "../../libs/log/package.json",
  "../../libs/canonical/package.json",
]

const outfile = resolve(process.argv[2] ?? "")

function bundle(): Built {
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
    // The policy engine is a package of its own, which is loaded where somebody asks for a decision.
    external: ["@cedar-policy/cedar-wasm/nodejs"],
    define: { "import.meta.url": "bundleUrl" },
    banner: { js: 'const bundleUrl = require("node:url").pathToFileURL(__filename).href;' },
    alias: { "node:child_process": "./build/no-processes.cjs" },
  })
  const inputs = [...Object.keys(metafile.inputs), ...SETTINGS].map(path => join(PACKAGE, path))
  return { sources: [...inputs, fileURLToPath(import.meta.url)], built: [outfile] }
}

await buildStamped(join(dirname(outfile), "sources.json"), bundle)
