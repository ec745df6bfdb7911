#!/usr/bin/env node
// CommonJS, here and in the built file: Node starts it some milliseconds sooner than a module.
const { hash } = require("node:crypto")
const { existsSync, readFileSync } = require("node:fs")
const module_ = require("node:module")
const { homedir } = require("node:os")
const { join } = require("node:path")
const { pathToFileURL } = require("node:url")

const home = join(__dirname, "..")
const built = join(home, "dist/verifier.cjs")
const stamp = join(home, "dist/sources.json")
const source = join(home, "src/main.ts")

/**
 * Whether the built file says what its sources say now: it was made of exactly these files (build/make-verifier.node.ts).
 * A published package has no sources beside it, and its built file is the verifier. Whatever cannot be read is not fresh.
 */
function isFresh() {
  if (!existsSync(source)) return existsSync(built)
  try {
    const { sources, sources_digest, built_digest } = JSON.parse(readFileSync(stamp, "utf8"))
    const found = sources.map(path => `${digestOf(join(home, path))} ${path}\n`).join("")
    return hash("sha256", found) === sources_digest && digestOf(built) === built_digest
  } catch {
    return false
  }
}

/** @param {string} path */
const digestOf = path => hash("sha256", readFileSync(path))

/**
 * Keeps compiled code in the user's own cache folder, never in one that others can write: who can replace compiled code
 * decides what the verifier says. Without a home there is no cache.
 */
function keepCompiledCode() {
  try {
    const caches = process.env.XDG_CACHE_HOME || join(homedir(), ".cache")
    module_.enableCompileCache?.(join(caches, "runseal", "verifier"))
  } catch {
    // Only slower.
  }
}

if (isFresh()) {
  keepCompiledCode()
  require(built)
} else if (process.features.typescript && existsSync(source)) {
  import(pathToFileURL(source).href).catch(() => {
    process.stderr.write("verifier: the sources could not be loaded; nothing was verified.\n")
    process.exitCode = 2
  })
} else {
  process.stderr.write(
    `verifier: Node ${process.versions.node} cannot run the sources as they are; ` +
      "run `npm run build -w @runseal/verifier`, or use Node 24.\n",
  )
  process.exitCode = 2
}
