/** Opens the keys folder and the data folder of its arguments while no file descriptor is left, and prints why each cannot be used. */
import { closeSync, openSync } from "node:fs"
import { openHeadFile } from "../../src/heads/head-files.ts"
import { lockFolder } from "../../src/store/driver/pglite/folder.ts"

const [, , keysDir = "", dataDir = ""] = process.argv
const held: number[] = []
try {
  for (;;) held.push(openSync("/dev/null", "r"))
} catch {
  // None is left.
}
const refusals = [() => openHeadFile(keysDir, "one"), () => lockFolder(dataDir)].map(open => {
  try {
    open()
    return "opened"
  } catch (error) {
    return error instanceof Error ? error.message : "no error"
  }
})
for (const fd of held) closeSync(fd)
process.stdout.write(JSON.stringify(refusals))
