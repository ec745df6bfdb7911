/** The references of a module, and the path of a referenced file in a package. Decision 0065. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import { placeInPackage, referencesIn, withReferences, writeModules } from "./modules.ts"
import { withDependencies } from "./workspaces.ts"

const NAMING: readonly (readonly [text: string, name: string])[] = [
  ['import { a } from "./a.js";', "./a.js"],
  ['import "./a.js";', "./a.js"],
  ['export { a } from "@runseal/core/verify/chain";', "@runseal/core/verify/chain"],
  ['const a = await import("./a.js");', "./a.js"],
  ['import rows from "./rows.json" with { type: "json" };', "./rows.json"],
  ['const thread = new URL("./thread.ts", import.meta.url);', "./thread.ts"],
]
test.each(NAMING)("%j names %s", (text, name) => {
  expect(referencesIn(text)).toEqual([name])
  expect(withReferences(text, () => "other")).toBe(text.replace(name, "other"))
})

test("an address that is no file of the module's is left as it is", () => {
  expect(referencesIn('new URL("https://runseal.example/", base); url("./a")')).toEqual([])
})

test.each([
  ["libs/core/src/verify/chain.ts", "dist/core/verify/chain.js"],
  ["apps/server/src/store/migrations/0000_first_release.sql", "dist/server/store/migrations/0000_first_release.sql"],
  ["apps/verify-page/dist/verify.html", "dist/verify-page/verify.html"],
])("%s is packed as %s", (path, place) => {
  expect(placeInPackage(path)).toBe(place)
})

test("what is not reached from where a package starts stays out, and what is named and missing stops the packing", () => {
  const folder = mkdtempSync(join(tmpdir(), "runseal-modules-"))
  try {
    const canonical = { workspaces: withDependencies("libs/canonical"), declarations: false }
    writeModules(folder, { ...canonical, entries: ["libs/canonical/src/bytes.ts"] })
    expect(readdirSync(join(folder, "dist/canonical"))).toEqual(["bytes.js"])
    expect(() => writeModules(folder, { ...canonical, entries: ["libs/canonical/src/absent.json"] })).toThrow(
      "libs/canonical/src/absent.json is named by what is published, and is not there.",
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
})
