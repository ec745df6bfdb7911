/** A process that finishes a change of keys: `node take-next-keys.ts <keys folder> <ids in force, JSON>`. */
import { takeNextKeys } from "../../src/keys/key-file.ts"
import { StartupError } from "../../src/options/startup-error.ts"

const [directory = "", ids = ""] = process.argv.slice(2)
try {
  takeNextKeys(directory, JSON.parse(ids))
} catch (error) {
  if (!(error instanceof StartupError)) throw error
  process.stderr.write(error.message)
  process.exitCode = 1
}
