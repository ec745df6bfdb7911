/** Two processes that finish a change of keys at once: the keys that are in force stay, whatever is started meanwhile. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, expect, test } from "vitest"
import { idsOf, type SigningKeys } from "../../src/keys/ecdsa-keys.ts"
import { createKeys, createNextKeys, readKeys, readNextKeys } from "../../src/keys/key-file.ts"
import { KEYS_LOCK_FILE, KEYS_LOCK_WAIT_MS } from "../../src/keys/keys-folder.ts"
import { lockFile } from "../../src/store/driver/file-lock.ts"
import type { KeyIds } from "../../src/store/tables/signing-keys.ts"

const TIMEOUT_MS = 120_000
const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

let folder: string
const children: ChildProcess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "runseal-key-lock-"))
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL")
  rmSync(folder, { recursive: true })
})

type Taker = {
  readonly ended: Promise<{ readonly code: number; readonly stderr: string }>
  /** It has made sure which keys it takes, and begins to. */
  readonly renaming: Promise<unknown>
  readonly kill: () => void
}

function take(ids: KeyIds, preload: readonly string[] = []): Taker {
  const child = spawn(process.execPath, [...preload, pathOf("take-next-keys.ts"), folder, JSON.stringify(ids)])
  children.push(child)
  let stderr = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text
  })
  const ended = once(child, "close").then(([code]: (number | null)[]) => ({ code: code ?? -1, stderr }))
  return { ended, renaming: once(child.stdout, "data"), kill: () => void child.kill("SIGKILL") }
}
const slowly = (ids: KeyIds): Taker => take(ids, ["--import", pathOf("slow-renames.ts")])

const DONE = { code: 0, stderr: "" }
const idsIn = (keys: SigningKeys | undefined) => keys && idsOf(keys)

test("a change that is begun while an earlier one is being finished does not take its place", {
  timeout: TIMEOUT_MS,
}, async () => {
  createKeys(folder)
  const second = idsOf(createNextKeys(folder, ["service"]))
  const slow = slowly(second)
  await slow.renaming
  const quick = take(second)
  expect(await quick.ended).toEqual(DONE)
  const third = idsOf(createNextKeys(folder, ["service"]))
  expect(await slow.ended).toEqual(DONE)
  expect(idsIn(readKeys(folder))).toEqual(second)
  expect(idsIn(readNextKeys(folder))).toEqual(third)
})

test("a process that is killed while it changes the file keeps nobody waiting", { timeout: TIMEOUT_MS }, async () => {
  createKeys(folder)
  const second = idsOf(createNextKeys(folder, ["log"]))
  const killed = slowly(second)
  await killed.renaming
  killed.kill()
  expect(await take(second).ended).toEqual(DONE)
  expect(idsIn(readKeys(folder))).toEqual(second)
})

test("one that holds the folder longer than the others wait is told of in one sentence, and nothing is changed", {
  timeout: TIMEOUT_MS,
}, async () => {
  const first = idsOf(createKeys(folder))
  const second = idsOf(createNextKeys(folder, ["log"]))
  const held = lockFile(join(folder, KEYS_LOCK_FILE), 0)
  const began = performance.now()
  const { code, stderr } = await take(second).ended
  held?.release()
  expect(performance.now() - began).toBeGreaterThan(KEYS_LOCK_WAIT_MS)
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `Another process is changing the keys in ${folder}: try again once it has ended.`,
  })
  expect(idsIn(readKeys(folder))).toEqual(first)
  expect(await take(second).ended).toEqual(DONE)
})

test("a folder whose lock cannot be taken is told of in one sentence", { timeout: TIMEOUT_MS }, async () => {
  createKeys(folder)
  const second = idsOf(createNextKeys(folder, ["log"]))
  rmSync(join(folder, KEYS_LOCK_FILE))
  mkdirSync(join(folder, KEYS_LOCK_FILE))
  const { code, stderr } = await take(second).ended
  expect(code).toBe(1)
  expect(stderr).toMatch(/^The keys folder [^\n]+ cannot be used: check [^\n]+\.$/)
})
