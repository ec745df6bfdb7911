/** The verifier as a user has it: built by the package's own build script and linked as npm links it. */
import { execFileSync } from "node:child_process"
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export const PACKAGE: string = fileURLToPath(new URL("..", import.meta.url))
export const MODULES_BIN: string = join(PACKAGE, "../../node_modules/.bin")

const OUTFILE = "dist/verifier.cjs"

/** Runs the build script with another place for its result. */
export function build(outfile: string): void {
  const { scripts } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"))
  const command: string = scripts.build.replace(OUTFILE, outfile)
  execFileSync("/bin/sh", ["-c", command], {
    cwd: PACKAGE,
    env: { ...process.env, PATH: `${MODULES_BIN}:${process.env.PATH}` },
  })
}

/** Copies the starting file into a package folder of its own. */
export function placeBin(folder: string): string {
  const bin = join(folder, "bin/verifier.cjs")
  mkdirSync(dirname(bin), { recursive: true })
  copyFileSync(join(PACKAGE, "bin/verifier.cjs"), bin)
  chmodSync(bin, 0o755)
  return bin
}

/** A folder for PATH in which `verifier` is the built one and `node` the one of RUNSEAL_TEST_NODE, else the tests' own. */
export function install(folder: string): string {
  const path = join(folder, "path")
  mkdirSync(path, { recursive: true })
  build(join(folder, "package", OUTFILE))
  symlinkSync(placeBin(join(folder, "package")), join(path, "verifier"))
  symlinkSync(process.env.RUNSEAL_TEST_NODE ?? process.execPath, join(path, "node"))
  return path
}
