/** Hashes of files, and reports written to them. */
import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { API_KEY, type Service, startService } from "../test/scripted-service.ts"
import { createClient, FileError, hashFile, NotFoundError, RunsealError, UnsupportedOperationError } from "./index.ts"

let folder: string
let service: Service
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "runseal-sdk-files-"))
  service = await startService()
})
afterAll(async () => {
  await service.stop()
  rmSync(folder, { recursive: true })
})

const bytes = new Uint8Array(300_000).map((_, at) => at % 251)
const expected = createHash("sha256").update(bytes).digest("hex")

test("a file's hash is the same by its path, as a Blob and as bytes, and that of sha256sum", async () => {
  const path = join(folder, "agent.tgz")
  writeFileSync(path, bytes)
  for (const file of [path, new Blob([bytes]), bytes]) expect(await hashFile(file)).toBe(expected)
  expect(await hashFile(new Uint8Array())).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
})

test("a file that cannot be read or written is an error of the library, with the platform's as its cause", async () => {
  const absent = hashFile(join(folder, "absent"))
  await expect(absent).rejects.toThrow(FileError)
  await expect(absent).rejects.toMatchObject({ message: "The file could not be read.", cause: { code: "ENOENT" } })
  await expect(hashFile(folder)).rejects.toMatchObject({ name: "FileError", cause: { code: "EISDIR" } })
  const client = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY })
  const saved = client.saveReport(7, join(folder, "absent", "report.pdf"))
  await expect(saved).rejects.toThrow(RunsealError)
  await expect(saved).rejects.toMatchObject({ name: "FileError", cause: { code: "ENOENT" } })
})

const PDF = "%PDF-1.7\nreport\n%%EOF\n"

test("a report is written to a file, which is replaced", async () => {
  const client = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY })
  const path = join(folder, "report.pdf")
  writeFileSync(path, "an older and longer report than the new one")
  service.faults.push(response => response.end(PDF))
  await client.saveReport(7, path, { format: "brief" })
  expect(service.asked.at(-1)?.path).toBe("/runs/7/report.pdf?format=brief")
  expect(readFileSync(path, "utf8")).toBe(PDF)
})

test("a report that is refused leaves the file as it was", async () => {
  const client = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY })
  const path = join(folder, "report.pdf")
  await expect(client.saveReport(99, path)).rejects.toThrow(NotFoundError)
  expect(readFileSync(path, "utf8")).toBe(PDF)
})

test("where there are no files a path is refused, and a Blob is hashed", async () => {
  vi.stubGlobal("process", undefined)
  try {
    await expect(hashFile("agent.tgz")).rejects.toThrow(UnsupportedOperationError)
    expect(await hashFile(new Blob([bytes]))).toBe(expected)
  } finally {
    vi.unstubAllGlobals()
  }
})
