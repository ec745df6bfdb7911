/** Which code the service's starting file runs. */
import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { ROOT } from "../supply-chain/lockfile.ts"
import { buildStamped } from "./build-stamp.ts"

let folder: string
let server: string
const inServer = (path: string): string => join(server, path)
const stamp = (): string => inServer("dist/bundle/sources.json")

/** A checkout as far as the starting file sees it, with a source and what was built of it. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "runseal-stamp-"))
  server = join(folder, "apps/server")
  for (const path of ["bin", "src", "dist/bundle"]) mkdirSync(inServer(path), { recursive: true })
  symlinkSync(join(ROOT, "tools"), join(folder, "tools"))
  for (const path of ["bin/runseal-server.js", "package.json"])
    copyFileSync(join(ROOT, "apps/server", path), inServer(path))
  writeFileSync(inServer("src/main.ts"), 'console.log("sources" as string)\n')
  await buildStamped(stamp(), () => {
    writeFileSync(inServer("dist/bundle/main.js"), 'console.log("built")\n')
    return { sources: [inServer("src/main.ts")], built: [inServer("dist/bundle/main.js")] }
  })
})
afterEach(() => rmSync(folder, { recursive: true }))

const started = (): string => {
  const { stdout, stderr } = spawnSync(process.execPath, [inServer("bin/runseal-server.js")], { encoding: "utf8" })
  return stdout + stderr
}

test("what was built runs as long as its sources are what it was built of", () => {
  expect(started()).toBe("built\n")
})

test.each([
  [
    "a source that changed",
    () => writeFileSync(inServer("src/main.ts"), 'console.log("sources" as string) // another\n'),
  ],
  ["a built file that changed", () => writeFileSync(inServer("dist/bundle/main.js"), 'console.log("another")\n')],
  ["a built file that is gone", () => rmSync(inServer("dist/bundle/main.js"))],
  ["no stamp", () => rmSync(stamp())],
  ["half a stamp", () => writeFileSync(stamp(), '{"sources":')],
  ["nothing that was built", () => rmSync(inServer("dist"), { recursive: true })],
])("with %s the sources run", (_, change) => {
  change()
  expect(started()).toBe("sources\n")
})

test("a package, which has no sources, runs what was built", () => {
  rmSync(inServer("src"), { recursive: true })
  rmSync(join(folder, "tools"))
  rmSync(stamp())
  expect(started()).toBe("built\n")
})

test("a build whose source changes meanwhile gets no stamp", async () => {
  let builds = 0
  await buildStamped(stamp(), () => {
    writeFileSync(inServer("src/main.ts"), `console.log("sources" as string) // ${builds++}\n`)
    return { sources: [inServer("src/main.ts")], built: [inServer("dist/bundle/main.js")] }
  })
  expect(started()).toBe("sources\n")
})
