import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { clockSeconds } from "@runseal/core/vocabulary/scalars"
import { afterEach, beforeEach, expect, test } from "vitest"
import { makeDeployment, sealRun } from "../../../libs/core/test/fixtures/deployment.ts"
import { smallPdf } from "../../../libs/core/test/fixtures/small-pdf.ts"
import type { Answer } from "../src/exit-answer.ts"
import { exportSigstore } from "../src/export-command.ts"

const deployment = makeDeployment()
const { bundle } = sealRun(deployment, { outcome: "ok" })
const madeAt = clockSeconds(bundle.run.created_at) ?? 0
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "runseal-export-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

function exported(document: string | Uint8Array, force = false): Promise<Answer> {
  const path = join(folder, "document")
  writeFileSync(path, document)
  const flags = { folder: join(folder, "out"), force, strict: false }
  return exportSigstore(path, flags, [deployment.trust], { colour: false, ascii: false })
}
const written = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(join(folder, "out")).map(name => [name, readFileSync(join(folder, "out", name), "utf8")]),
  )

test("a report in PDF is exported by the record that it carries", async () => {
  const text = JSON.stringify(bundle)
  await exported(text)
  const { "README.txt": _, ...ofBundle } = written()
  rmSync(join(folder, "out"), { recursive: true })
  const pdf = smallPdf({ record: text, madeAt }, deployment)
  expect(await exported(pdf)).toMatchObject({ exit: 0 })
  expect(written()).toMatchObject(ofBundle)
})

test("a report whose signature fails is not exported", async () => {
  const answer = await exported(smallPdf({ record: JSON.stringify(bundle), madeAt: madeAt + 1 }, deployment))
  expect(answer).toMatchObject({ exit: 1, stderr: "verifier: nothing was exported.\n" })
  expect(existsSync(join(folder, "out"))).toBe(false)
})

test.each([false, true])("a link in the folder is not written through (--force: %s)", async force => {
  const target = join(folder, "precious")
  writeFileSync(target, "kept")
  mkdirSync(join(folder, "out"))
  symlinkSync(target, join(folder, "out/service.pub"))
  const answer = exported(JSON.stringify(bundle), force)
  if (force) expect(await answer).toMatchObject({ exit: 0 })
  else await expect(answer).rejects.toThrow("service.pub exists, and nothing was written")
  expect(readFileSync(target, "utf8")).toBe("kept")
  expect(Object.keys(written())).toHaveLength(force ? 7 : 1)
})

test("a link to nowhere is not written through", async () => {
  mkdirSync(join(folder, "out"))
  symlinkSync(join(folder, "nowhere"), join(folder, "out/service.pub"))
  await expect(exported(JSON.stringify(bundle))).rejects.toThrow("could not be written")
  expect(existsSync(join(folder, "nowhere"))).toBe(false)
})
