/** A test that fails between the start of a server and its end leaves none behind. */
import { join } from "node:path"
import { expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { endStrays, startChild } from "../harness/child.ts"

const folder = testFolder("runseal-strays")

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
