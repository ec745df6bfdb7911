#!/usr/bin/env node
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"

// Required rather than imported, here and in the built file: importing Node's own modules costs some milliseconds each.
const require = createRequire(import.meta.url)
const { existsSync } = require("node:fs")
const module = require("node:module")
const { homedir } = require("node:os")
const { join } = require("node:path")

const built = fileURLToPath(new URL("../dist/verifier.cjs", import.meta.url))
const source = new URL("../src/main.ts", import.meta.url)

/**
 * Keeps compiled code in the user's own cache folder, never in one that others can write: who can replace compiled code
 * decides what the verifier says. Without a home there is no cache.
 */
function keepCompiledCode() {
  try {
    const caches = process.env.XDG_CACHE_HOME || join(homedir(), ".cache")
    module.enableCompileCache?.(join(caches, "runseal", "verifier"))
  } catch {
    // Only slower.
  }
}

if (existsSync(built)) {
  keepCompiledCode()
  require(built)
} else if (process.features.typescript && existsSync(source)) {
  await import(source.href)
} else {
  process.stderr.write(
    `verifier: Node ${process.versions.node} cannot run the sources as they are; ` +
      "run `npm run build -w @runseal/verifier` once, or use Node 24.\n",
  )
  process.exitCode = 2
}
