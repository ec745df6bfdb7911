/** The starting file: which code it runs, and what it says when it has none that this Node can run. */
import { execFile } from "node:child_process"
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { VERSION } from "../src/version.ts"
import { build, PACKAGE, placeBin } from "./installed.ts"

let folder: string
let bin: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "runseal-bin-"))
  bin = placeBin(join(folder, "package"))
})
afterEach(() => rmSync(folder, { recursive: true }))

type Ended = { readonly stdout: string; readonly stderr: string; readonly code: number | null }
const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  new Promise(done => {
    const child = execFile(process.execPath, args, { env: { HOME: folder, ...env } }, (_, stdout, stderr) =>
      done({ stdout, stderr, code: child.exitCode }),
    )
  })

test("the version is the package's", () => {
  expect(JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")).version).toBe(VERSION)
})

test("the starting file can be executed", () => {
  expect(statSync(join(PACKAGE, "bin/verifier.mjs")).mode & 0o111).toBe(0o111)
})

test("a built verifier runs alone, with nothing installed beside it", async () => {
  build(join(folder, "package/dist/verifier.cjs"))
  expect(await run([bin, "--version"])).toEqual({ stdout: `${VERSION}\n`, stderr: "", code: 0 })
})

test("a built verifier keeps compiled code in the user's own cache folder", async () => {
  build(join(folder, "package/dist/verifier.cjs"))
  await run([bin, "--version"], { XDG_CACHE_HOME: join(folder, "caches") })
  expect(readdirSync(join(folder, "caches/runseal/verifier"))).toHaveLength(1)
})

test("a cache folder that cannot be made only makes it slower", async () => {
  build(join(folder, "package/dist/verifier.cjs"))
  writeFileSync(join(folder, "caches"), "a file in its place")
  const { code } = await run([bin, "--version"], { XDG_CACHE_HOME: join(folder, "caches") })
  expect(code).toBe(0)
})

test("what is built is preferred to the sources", async () => {
  const built = join(folder, "package/dist/verifier.cjs")
  mkdirSync(dirname(built))
  writeFileSync(built, 'process.stdout.write("built")')
  symlinkSync(join(PACKAGE, "src"), join(folder, "package/src"))
  expect((await run([bin])).stdout).toBe("built")
})

test("without a build the sources run on a Node that strips types", async () => {
  symlinkSync(join(PACKAGE, "src"), join(folder, "package/src"))
  expect(await run([bin, "--version"])).toEqual({ stdout: `${VERSION}\n`, stderr: "", code: 0 })
})

test("on a Node that does not, it says what to do and verifies nothing", async () => {
  symlinkSync(join(PACKAGE, "src"), join(folder, "package/src"))
  const { stderr, code } = await run(["--no-strip-types", bin, "--version"])
  expect(stderr).toContain("npm run build -w @runseal/verifier")
  expect(code).toBe(2)
})
