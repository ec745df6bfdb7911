/**
 * `npm run pack`: writes the published packages.
 *
 *   node tools/src/packing/main.ts [folder]
 */
import { readFileSync, statSync } from "node:fs"
import { relative, resolve } from "node:path"
import { sha256Hex } from "@runseal/canonical"
import { packAll } from "./pack.ts"

const words = process.argv.slice(2)
if (words.length > 1 || words[0]?.startsWith("-")) {
  process.stderr.write("pack: nothing but one folder is accepted\n")
  process.exitCode = 1
} else {
  for (const { file } of await packAll(resolve(words[0] ?? "dist/packages"))) {
    const digest = sha256Hex(readFileSync(file))
    process.stdout.write(`${digest}  ${relative(process.cwd(), file)}  ${statSync(file).size} bytes\n`)
  }
}
