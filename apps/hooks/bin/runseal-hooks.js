#!/usr/bin/env node
/**
 * Starts the command: from its sources in a checkout, from the compiled modules in a package. Checks the version of Node first: an old one
 * could not run the modules. With the exit code 2 agents do not make the call.
 */
import { existsSync, readFileSync } from "node:fs"

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
const NEEDED = /(\d+)\.(\d+)/.exec(engines.node).slice(1).map(Number)
const found = process.versions.node.split(".").map(Number)

if (found[0] < NEEDED[0] || (found[0] === NEEDED[0] && found[1] < NEEDED[1])) {
  process.stderr.write(
    `runseal-hooks: this is Node ${process.versions.node}; the hooks need Node ${NEEDED.join(".")} or later\n`,
  )
  process.exitCode = 2
} else {
  const source = new URL("../src/main.ts", import.meta.url)
  await import((existsSync(source) ? source : new URL("../dist/hooks/main.js", import.meta.url)).href)
}
