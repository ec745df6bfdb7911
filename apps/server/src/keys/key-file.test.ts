import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { idsOf, type SigningKeys } from "./ecdsa-keys.ts"
import { createKeys, createNextKeys, findSigningKeys, readKeys, readNextKeys, takeNextKeys } from "./key-file.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "runseal-key-file-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const idsIn = (keys: SigningKeys | undefined) => keys && idsOf(keys)

test("a committed change replaces the keys only once: a further change that was started meanwhile does not replace them", () => {
  createKeys(folder)
  const second = idsOf(createNextKeys(folder, ["service"]))
  findSigningKeys(folder, second)
  const third = idsOf(createNextKeys(folder, ["service"]))
  takeNextKeys(folder, second)
  expect(idsIn(readKeys(folder))).toEqual(second)
  expect(idsIn(readNextKeys(folder))).toEqual(third)
  takeNextKeys(folder, third)
  expect(idsIn(readKeys(folder))).toEqual(third)
  expect(readNextKeys(folder)).toBeUndefined()
})
