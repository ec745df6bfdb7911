/**
 * Loaded into a server before it starts (`node --import`): its Date.now() is the machine's plus the number in a file, in
 * milliseconds, which is read again all the time. The server has no other clock.
 */
import { readFileSync } from "node:fs"

const POLL_MS = 10
const { FAULT_CLOCK_FILE = "" } = process.env
const machine = Date.now
let shift = 0

function poll(): void {
  shift = Number(readFileSync(FAULT_CLOCK_FILE, "utf8"))
}

poll()
setInterval(poll, POLL_MS).unref()
Date.now = () => machine() + shift
