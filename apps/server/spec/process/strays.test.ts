/** A test that fails between the start of a server and its end leaves none behind. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { endStrays, startChild } from "../harness/child.ts"

const folder = mkdtempSync(join(tmpdir(), "runseal-strays-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("servers that nobody ended are killed, and their folder is free for the next test", {
  timeout: 240_000,
}, async () => {
  const options = ["--data-dir", join(folder, "data")]
  const left = await startChild(options)
  await endStrays()
  expect(await left.ended).toMatchObject({ code: null })
  await expect(left.get("/health")).rejects.toThrow()
  const next = await startChild(options)
  expect((await next.get("/health")).status).toBe(200)
  await endStrays()
  expect(await next.ended).toMatchObject({ code: null })
})
