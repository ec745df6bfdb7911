/** The published log of a real server, audited with the real verifier: over HTTP, and as a copy made as docs/verifier.md says. */
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { JsonValue } from "@runseal/canonical"
import { afterAll, beforeAll, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type Child, startChild } from "../harness/child.ts"
import { request } from "../harness/sample-requests.ts"
import { runVerifier, type Verification } from "../harness/verifier.ts"

/** Entries beside the genesis entry: two full tiles, a partial one, and a row above. Two of each run, one of each attestation. */
const RUNS = 20
const ATTESTATIONS = 570
const SIZE = 1 + 2 * RUNS + ATTESTATIONS
/** Starting, filling and copying on a busy machine. */
const START_DEADLINE_MS = 120_000
const PAGE = fileURLToPath(new URL("../../../../docs/verifier.md", import.meta.url))

const folder = testFolder("runseal-log-audit")
let server: Child

const post = async (count: number, path: string, body: JsonValue): Promise<void> => {
  const answers = await Promise.all(Array.from({ length: count }, () => server.post(path, body)))
  expect(answers.filter(({ body }) => body.ok !== true).map(({ text }) => text)).toEqual([])
}
const runs = (count: number): Promise<void> => post(count, "/execute", request())

const audit = (log: string, ...options: readonly string[]): Promise<Verification> =>
  runVerifier(folder, ["log", "audit", log, "--trust", "trust.json", ...options])

/** The script of the page. */
function mirrorScript(): string {
  const [, script] = /<!-- mirror -->\n```bash\n([^`]*)```/.exec(readFileSync(PAGE, "utf8")) ?? []
  if (script === undefined) throw new Error("the page shows no script")
  return script
}

beforeAll(async () => {
  server = await startChild(["--data-dir", join(folder, "data"), "--attest-rate-limit", "1000000"])
  await runs(RUNS)
  await post(ATTESTATIONS, "/attest", { digest: "5".repeat(64), algorithm: "sha256" })
  writeFileSync(join(folder, "trust.json"), (await server.get("/.well-known/runseal-trust.json")).text)
  writeFileSync(join(folder, "mirror-log.sh"), mirrorScript())
  await promisify(execFile)("bash", ["mirror-log.sh", `${server.url}/log`, "mirror"], { cwd: folder })
}, START_DEADLINE_MS)
afterAll(async () => {
  await server.end("SIGTERM")
})

test("a published log is whole, and its copy is too", async () => {
  for (const log of [server.url, `${server.url}/log/`, "mirror"]) {
    const { exit, verdict, stdout, stderr } = await audit(log)
    expect({ exit, verdict, stderr }, stdout).toEqual({ exit: 0, verdict: "LOG VERIFIED", stderr: "" })
    expect(stdout).toContain(`entries       ${SIZE}\n`)
  }
})

test("a log that grew is consistent with what was seen; an older copy of it is not what it was", async () => {
  expect(await audit(server.url)).toMatchObject({ exit: 0 })
  await runs(5)
  expect(await audit(server.url, "--quick")).toMatchObject({ exit: 0, verdict: "LOG EXTENSION VERIFIED" })
  expect(await audit(server.url)).toMatchObject({ exit: 0, verdict: "LOG VERIFIED" })
  const older = await audit("mirror")
  expect(older).toMatchObject({ exit: 1, verdict: "FAILED" })
  expect(older.stdout).toContain(`it shows ${SIZE} entries, and had ${SIZE + 10}`)
})

test("a copy with one bit changed fails", async () => {
  const path = join(folder, "mirror/tile/entries/001")
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.with(1000, (bytes[1000] ?? 0) ^ 1))
  const elsewhere = mkdtempSync(join(folder, "elsewhere-"))
  const result = await runVerifier(elsewhere, [
    "log",
    "audit",
    join(folder, "mirror"),
    "--trust",
    join(folder, "trust.json"),
  ])
  expect(result).toMatchObject({ exit: 1, verdict: "FAILED" })
  expect(result.stdout).toMatch(/Entry \d+ is not the one that tile\/0\/001 commits to|does not hold 256 entries/)
})
