/**
 * Loaded into a server before it starts (`node --import`): its Date.now() is the machine's plus what a file says, in
 * milliseconds, read anew all the time. The server takes its time from there alone.
 */
import { readFileSync } from "node:fs"

const LOOK_MS = 10
const { FAULT_CLOCK_FILE = "" } = process.env
const machine = Date.now
let shift = 0

function look(): void {
  shift = Number(readFileSync(FAULT_CLOCK_FILE, "utf8"))
}

look()
setInterval(look, LOOK_MS).unref()
Date.now = () => machine() + shift
