/**
 * Makes the answers of authenticators anew that tests of both verifiers read, those of an emulator of others first:
 * `node apps/server/spec/interop/make-assertions.ts`.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EMULATOR, emulatedAssertions, installInto } from "./emulated-assertions.ts"
import { assertionsOtherwise } from "./signed-otherwise.ts"

const FILE = "libs/core/test/fixtures/assertions.json"
const PROGRAM = "apps/server/spec/interop/make-assertions.ts"

const folder = mkdtempSync(join(tmpdir(), "runseal-emulator-"))
try {
  const emulated = emulatedAssertions(installInto(folder, EMULATOR))
  const head = { made_by: `${EMULATOR} (emulated), and ours (otherwise)`, made_with: `node ${PROGRAM}` }
  const lists = Object.entries({ emulated, otherwise: assertionsOtherwise() }).map(
    ([name, made]) => `"${name}":[\n${made.map(each => JSON.stringify(each)).join(",\n")}\n]`,
  )
  writeFileSync(FILE, `${JSON.stringify(head).slice(0, -1)},\n${lists.join(",\n")}}\n`)
} finally {
  rmSync(folder, { recursive: true })
}
