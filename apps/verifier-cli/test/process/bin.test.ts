/** The starting file: which code it runs, and what it says when it has none that this Node can run. */
import { execFile, execFileSync } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { VERSION } from "../../src/version.ts"
import { build, PACKAGE, placeBin } from "../installed.ts"

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
  expect(statSync(join(PACKAGE, "bin/verifier.cjs")).mode & 0o111).toBe(0o111)
})

test("a built verifier runs alone, with nothing installed beside it", async () => {
  build(join(folder, "package/dist/verifier.cjs"))
  expect(await run([bin, "--version"])).toEqual({ stdout: `${VERSION}\n`, stderr: "", code: 0 })
})

/** The cache file of this Node when XDG_CACHE_HOME is `caches` in the folder. */
const compiled = (): string => join(folder, `caches/runseal/verifier/${process.version}-${process.arch}.code`)
const BUNDLE = join(PACKAGE, "../../libs/core/vectors/bundles/valid/ok-full.json")
const TRUST = join(PACKAGE, "../../libs/core/vectors/trust.json")
const verify = (...flags: readonly string[]): Promise<Ended> =>
  run([bin, BUNDLE, "--trust", TRUST, ...flags], { XDG_CACHE_HOME: join(folder, "caches") })

test("a built verifier caches the code it compiled in the user's own cache folder, for this user alone", async () => {
  build(join(folder, "package/dist/verifier.cjs"))
  const first = await verify()
  expect(first.code).toBe(0)
  expect(readdirSync(dirname(compiled()))).toEqual([basename(compiled())])
  expect(statSync(compiled()).mode & 0o777).toBe(0o600)
  expect(await verify()).toEqual(first)
})

test("only the first runs add to the cache, and none that failed", async () => {
  build(join(folder, "package/dist/verifier.cjs"))
  expect((await verify("--no-such-option")).code).toBe(2)
  expect(existsSync(compiled())).toBe(false)
  for (let run = 1; run <= 8; run++) {
    await verify()
    expect(readFileSync(compiled())[32]).toBe(run)
  }
  const full = readFileSync(compiled())
  await verify("--json")
  expect(readFileSync(compiled()).equals(full)).toBe(true)
})

test.each([
  ["damaged", (path: string) => writeFileSync(path, readFileSync(path).fill(0, 1000, 2000))],
  ["cut short", (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 1000))],
  ["made of another built file", () => appendFileSync(join(folder, "package/dist/verifier.cjs"), "\n;")],
])("compiled code that was %s is not run, and made again", async (_, change) => {
  build(join(folder, "package/dist/verifier.cjs"))
  const first = await verify()
  await verify()
  change(compiled())
  expect(await verify()).toEqual(first)
  expect(readFileSync(compiled())[32]).toBe(1)
})

/** Replaces a file or folder by a link to it. */
function hideBehindLink(path: string): void {
  renameSync(path, join(folder, "elsewhere"))
  symlinkSync(join(folder, "elsewhere"), path)
}

test("compiled code that others can write is not run", async () => {
  build(join(folder, "package/dist/verifier.cjs"))
  await verify()
  await verify()
  chmodSync(compiled(), 0o666)
  expect((await verify()).code).toBe(0)
  expect(readFileSync(compiled())[32]).toBe(1)
})

test.each([
  ["in a folder that others can write", () => chmodSync(dirname(compiled()), 0o777)],
  ["below a folder that others can write", () => chmodSync(dirname(dirname(compiled())), 0o777)],
  ["in a folder behind a link", () => hideBehindLink(dirname(compiled()))],
])("compiled code %s is neither run nor kept", async (_, open) => {
  build(join(folder, "package/dist/verifier.cjs"))
  await verify()
  const first = readFileSync(compiled())
  open()
  expect((await verify()).code).toBe(0)
  expect(readFileSync(compiled()).equals(first)).toBe(true)
})

test("compiled code behind a link, which may lead to a file that the user was sent, is not run, and made again", async () => {
  build(join(folder, "package/dist/verifier.cjs"))
  await verify()
  await verify()
  hideBehindLink(compiled())
  expect((await verify()).code).toBe(0)
  expect(readFileSync(compiled())[32]).toBe(1)
})

test("the built verifier starts no other program", () => {
  build(join(folder, "package/dist/verifier.cjs"))
  expect(readFileSync(join(folder, "package/dist/verifier.cjs"), "utf8")).not.toContain("child_process")
})

test("a cache folder that cannot be made only makes it slower", async () => {
  build(join(folder, "package/dist/verifier.cjs"))
  writeFileSync(join(folder, "caches"), "a file in its place")
  expect((await verify()).code).toBe(0)
})

/** A checkout in which the verifier was built, as far as the starting file sees it; gives the package's folder. */
function checkout(): string {
  for (const part of ["libs", "node_modules", "tools"]) symlinkSync(join(PACKAGE, "../..", part), join(folder, part))
  const own = join(folder, "apps/verifier-cli")
  for (const part of ["src", "build", "bin"]) cpSync(join(PACKAGE, part), join(own, part), { recursive: true })
  copyFileSync(join(PACKAGE, "package.json"), join(own, "package.json"))
  execFileSync(process.execPath, [join(own, "build/make-verifier.node.ts"), join(own, "dist/verifier.cjs")])
  return own
}

/** Makes the version tell which code ran, without changing what was built. */
const mark = (own: string, version: string): void =>
  writeFileSync(join(own, "src/version.ts"), `export const VERSION = "${version}"\n`)

test("in a checkout the built file runs as long as its sources are what it was built of", async () => {
  const own = checkout()
  const start = join(own, "bin/verifier.cjs")
  expect((await run([start, "--version"])).stdout).toBe(`${VERSION}\n`)
  mark(own, "changed")
  expect((await run([start, "--version"])).stdout).toBe("changed\n")
})

test("in a checkout a built file that is not the one its stamp names does not run", async () => {
  const own = checkout()
  writeFileSync(join(own, "dist/verifier.cjs"), 'process.stdout.write("another")')
  expect((await run([join(own, "bin/verifier.cjs"), "--version"])).stdout).toBe(`${VERSION}\n`)
  rmSync(join(own, "dist/sources.json"))
  expect((await run([join(own, "bin/verifier.cjs"), "--version"])).stdout).toBe(`${VERSION}\n`)
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
