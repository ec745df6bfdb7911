/** The service key with a signer over HTTP: the real server and commands, a fake signer, records that anybody verifies. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type Child, runToEnd, startChild } from "../harness/child.ts"
import { expectRefused, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { type StandInSigner, startSigner } from "../harness/signer.ts"
import { until } from "../harness/until.ts"
import { verifyWithCli } from "../harness/verifier.ts"

const DEADLINE_MS = 480_000
const COMPLETE = "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED"
const folder = testFolder("runseal-remote")
const tokenFile = join(folder, "token")
let signer: StandInSigner
let next: StandInSigner

beforeAll(async () => {
  signer = await startSigner("token-of-the-signer")
  next = await startSigner("token-of-the-signer")
  writeFileSync(tokenFile, "token-of-the-signer\n")
})
afterAll(async () => {
  await signer.close()
  await next.close()
})

/** The brief report of a run. */
async function reportOf(server: Child, run: number): Promise<Buffer> {
  const response = await fetch(`${server.url}/runs/${run}/report.pdf?format=brief`)
  expect(response.status).toBe(200)
  return Buffer.from(await response.arrayBuffer())
}

test("records are sealed with it, nothing is lost while it is away, and it is changed for another", {
  timeout: DEADLINE_MS,
}, async () => {
  const base = ["--base-url", "https://runs.example.com"]
  const data = ["--data-dir", join(folder, "data"), "--signer-token-file", tokenFile, ...base]
  const at = (url: string): readonly string[] => [...data, "--signer-url", url]
  const server = await startChild(at(signer.url))
  expect(readFileSync(join(folder, "data", "keys", "signing-keys.json"), "utf8")).toContain("BEGIN PUBLIC KEY")
  expect((await server.post("/execute", request())).status).toBe(200)
  const trust = (await server.get("/.well-known/runseal-trust.json")).text
  expect(trust).toContain(Buffer.from(signer.spki).toString("base64"))
  const first = (await server.get("/runs/1/artifacts")).text
  expect(await verifyWithCli(first, trust)).toMatchObject({ exit: 0, verdict: COMPLETE })
  expect((await server.get("/runs/1/statement.intoto.json")).status).toBe(200)
  const report = await reportOf(server, 1)
  expect(await verifyWithCli(report, trust)).toMatchObject({ exit: 0, verdict: COMPLETE })

  for (const fault of ["unavailable", "another key", "another digest"] as const) {
    signer.fault = fault
    expectRefused(await server.post("/execute", request()), 503)
  }
  expectRefused(await server.get("/runs/1/report.pdf?format=legal"), 503)
  expect((await reportOf(server, 1)).equals(report), "its signature is remembered").toBe(true)
  signer.fault = undefined
  const again = await server.post("/execute", request())
  expect(again.body).toMatchObject({ ok: true, run_id: 2 })
  await until("the process log says why", () => server.stdout().includes("no signature of the pinned service key"))
  expect(server.stdout()).not.toContain(signer.token)
  await server.end("SIGTERM")

  const without = await runToEnd([...data, "--port", "0"])
  expect(without).toMatchObject({ code: 1 })
  expect(without.stderr).toMatch(/^runseal: The service key is at a signer: --signer-url must give its address\.\n$/)

  const changed = await runToEnd([...at(signer.url), "keys", "rotate", "service", "--signer", next.url, "--json"])
  expect(changed, changed.stderr).toMatchObject({ code: 0 })
  const other = await startChild(at(next.url))
  expect((await other.post("/execute", request())).status).toBe(200)
  const newTrust = (await other.get("/.well-known/runseal-trust.json")).text
  for (const [document, says] of [
    [first, "key retired, valid then"],
    [(await other.get("/runs/3/artifacts")).text, COMPLETE],
  ] as const) {
    const verified = await verifyWithCli(document, newTrust)
    expect(verified, verified.stdout).toMatchObject({ exit: 0, verdict: COMPLETE })
    expect(verified.stdout).toContain(says)
  }
  const renewed = await reportOf(other, 1)
  expect(renewed.equals(report)).toBe(false)
  for (const pdf of [report, renewed])
    expect(await verifyWithCli(pdf, newTrust)).toMatchObject({ exit: 0, verdict: COMPLETE })
  expect(await verifyWithCli(renewed, trust)).toMatchObject({ exit: 1, verdict: "FAILED" })
  await other.end("SIGTERM")

  const home = await runToEnd([...at(next.url), "keys", "rotate", "service", "--json"])
  expect(home, home.stderr).toMatchObject({ code: 0 })
  const local = await startChild(data)
  expect(textAt((await local.post("/execute", request())).body, "manifest", "ManifestHash")).toMatch(/^[0-9a-f]{64}$/)
  const before = await reportOf(local, 1)
  const localTrust = (await local.get("/.well-known/runseal-trust.json")).text
  await local.end("SIGTERM")
  const restarted = await startChild(data)
  expect((await reportOf(restarted, 1)).equals(before), "RFC 6979 gives the same in every process").toBe(true)
  expect(await verifyWithCli(before, localTrust)).toMatchObject({ exit: 0, verdict: COMPLETE })
  await restarted.end("SIGTERM")
})

test("a signer that cannot be used is no reason to make a key of one's own", { timeout: DEADLINE_MS }, async () => {
  const options = ["--port", "0", "--data-dir", join(folder, "none"), "--signer-url", signer.url]
  const { code, stderr } = await runToEnd(options)
  expect({ code }).toEqual({ code: 1 })
  expect(stderr).toContain("runseal: The signer cannot be used. The signer refused with 403.")
  expect(stderr).not.toContain("    at ")
})
