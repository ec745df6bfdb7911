#!/usr/bin/env node
/**
 * Starts the gateway: from its sources in a checkout, from the compiled modules in a package. Checks the version of Node first: an old
 * one could not run the modules, and its error would not say why. Agents show what a server answers, and seldom what it writes elsewhere, so
 * a gateway that cannot start says why in answer to each request.
 */
import { existsSync, readFileSync } from "node:fs"
import { createInterface } from "node:readline"

/** Bytes that a gateway which did not start reads of its agent. */
const READ_MAX_BYTES = 1_048_576
/** JSON-RPC 2.0, section 5.1. */
const INTERNAL_ERROR = -32_603

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
const NEEDED = /(\d+)\.(\d+)/.exec(engines.node).slice(1).map(Number)
const found = process.versions.node.split(".").map(Number)

if (found[0] < NEEDED[0] || (found[0] === NEEDED[0] && found[1] < NEEDED[1])) {
  refuse(`this is Node ${process.versions.node}; the gateway needs Node ${NEEDED.join(".")} or later`)
} else {
  const source = new URL("../src/main.ts", import.meta.url)
  await import((existsSync(source) ? source : new URL("../dist/mcp/main.js", import.meta.url)).href).catch(error =>
    refuse(error instanceof Error ? error.message : "a bug"),
  )
}

function refuse(sentence) {
  process.stderr.write(`runseal-mcp: ${sentence}\n`)
  process.exitCode = 1
  if (process.stdin.isTTY || process.argv.some(word => ["--listen", "--print-config", "--help", "-h"].includes(word)))
    return
  const error = { code: INTERNAL_ERROR, message: `Runseal: ${sentence}` }
  let size = 0
  process.stdout.on("error", () => process.stdin.destroy())
  createInterface({ input: process.stdin }).on("line", line => {
    const { id, method } = read(line)
    if (id !== undefined && method !== undefined)
      process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`)
  })
  process.stdin.on("data", chunk => {
    size += chunk.length
    if (size > READ_MAX_BYTES) process.stdin.destroy()
  })
}

function read(line) {
  try {
    return Object(JSON.parse(line))
  } catch {
    return {}
  }
}
