#!/usr/bin/env node
/**
 * Starts the gateway: from its sources in a checkout, from the compiled modules in a package. Checks the version of Node first: an old
 * one could not run the modules, and its error would not say why.
 */
import { existsSync, readFileSync } from "node:fs"

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
const NEEDED = /(\d+)\.(\d+)/.exec(engines.node).slice(1).map(Number)
const found = process.versions.node.split(".").map(Number)

if (found[0] < NEEDED[0] || (found[0] === NEEDED[0] && found[1] < NEEDED[1])) {
  process.stderr.write(
    `runseal-mcp: this is Node ${process.versions.node}; the gateway needs Node ${NEEDED.join(".")} or later\n`,
  )
  process.exitCode = 1
} else {
  const source = new URL("../src/main.ts", import.meta.url)
  await import((existsSync(source) ? source : new URL("../dist/mcp/main.js", import.meta.url)).href)
}
