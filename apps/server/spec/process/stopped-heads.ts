/** Loaded into a process before it starts (`node --import`): once the file STOP_FILE is there, it stops for good before it makes a head file. */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"

const { openSync, existsSync } = fs
fs.openSync = (path, flags, mode) => {
  if (`${path}`.endsWith(".tmp") && existsSync(process.env.STOP_FILE ?? "")) {
    fs.writeSync(1, "stopped before a head\n")
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }
  return openSync(path, flags, mode)
}
syncBuiltinESMExports()
