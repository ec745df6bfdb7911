/** Loaded into a process before it starts (`node --import`): every rename takes five seconds first, as on a busy network volume. */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"

const SLOW_MS = 5000
const { renameSync } = fs
fs.renameSync = (from, to) => {
  process.stdout.write("renaming\n")
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SLOW_MS)
  renameSync(from, to)
}
syncBuiltinESMExports()
