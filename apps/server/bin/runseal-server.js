#!/usr/bin/env node
/**
 * Starts the service as it was built; in a checkout only if it was built of the present sources, and else those. Checks the version of Node
 * first: an old one could not parse the modules, and its error would not say why.
 */
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
const NEEDED = /(\d+)\.(\d+)/.exec(engines.node).slice(1).map(Number)
const found = process.versions.node.split(".").map(Number)

if (found[0] < NEEDED[0] || (found[0] === NEEDED[0] && found[1] < NEEDED[1])) {
  process.stderr.write(
    `runseal: this is Node ${process.versions.node}; the service needs Node ${NEEDED.join(".")} or later\n`,
  )
  process.exitCode = 1
} else {
  const source = new URL("../src/main.ts", import.meta.url)
  const built = new URL("../dist/bundle/main.js", import.meta.url)
  const fresh = isFresh(source)
  if (!fresh && process.stderr.isTTY)
    process.stderr.write(
      "runseal: the sources are loaded, which takes some seconds, since what was built is older: `npm run prepare` builds it\n",
    )
  await import((fresh ? built : source).href)
}

/** A published package has no sources beside it, and what was built is always fresh. */
function isFresh(source) {
  if (!existsSync(source)) return true
  const stamp = fileURLToPath(new URL("../dist/bundle/sources.json", import.meta.url))
  return createRequire(import.meta.url)("../../../tools/src/packing/is-fresh.cjs").isFresh(stamp)
}
