/**
 * The service against the servers that Sigstore runs: rekor-tiles on a file system (`rekor-server-posix`) and timestamp-authority
 * (`timestamp-server`), when they are on PATH. Only the server in front of them is ours: it serves the log's files, as a web server does
 * in production, and loses the first answer.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { delimiter, join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { freePort } from "../../../../libs/core/test/fixtures/free-port.ts"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { startChild } from "../harness/child.ts"
import { listAt, numberAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { until } from "../harness/until.ts"
import { runVerifier } from "../harness/verifier.ts"

const TIMEOUT_MS = 120_000
const HOST = "two.rekor.test"
const found = (name: string): string | undefined =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .map(path => join(path, name))
    .find(path => existsSync(path))
const [rekorServer, timestampServer] = [found("rekor-server-posix"), found("timestamp-server")]
const missing = [
  ...(rekorServer === undefined ? ["rekor-server-posix"] : []),
  ...(timestampServer === undefined ? ["timestamp-server"] : []),
]
const title = missing.length === 0 ? "" : ` (${missing.join(", ")} not found on PATH)`

const folder = testFolder("runseal-real")
const children: ChildProcess[] = []
const servers: Server[] = []
afterAll(() => {
  for (const child of children) child.kill("SIGKILL")
  for (const server of servers) server.close().closeAllConnections()
})

/** Starts a server and waits until it answers there. */
async function started(command: string, args: readonly string[], address: string): Promise<void> {
  children.push(spawn(command, args, { cwd: folder, stdio: "ignore" }))
  await until(`${command} answers`, async () => (await fetch(address).catch(() => undefined))?.ok === true)
}

/** The log's one address: its files to who reads, everything else to the server; the answer of the first entry is lost. */
async function frontOf(server: string, files: string): Promise<string> {
  let lost = 0
  const front = createServer(async (asked, answer) => {
    const { method = "", url = "" } = asked
    if (method === "GET") {
      const file = join(files, url.replace("/api/v2/", ""))
      answer.writeHead(existsSync(file) ? 200 : 404).end(existsSync(file) ? readFileSync(file) : "")
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of asked) chunks.push(chunk)
    const headers = { "content-type": "application/json" }
    const response = await fetch(server + url, { method, headers, body: Buffer.concat(chunks) })
    const body = Buffer.from(await response.arrayBuffer())
    if (response.status === 201 && lost++ === 0) answer.destroy()
    else answer.writeHead(response.status, headers).end(body)
  })
  front.listen(0, "127.0.0.1")
  await once(front, "listening")
  servers.push(front)
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}/`
}

test.skipIf(missing.length > 0)(
  `every entry is in a log of rekor-tiles with a timestamp of timestamp-authority${title}`,
  { timeout: TIMEOUT_MS },
  async () => {
    if (rekorServer === undefined || timestampServer === undefined) return
    const [tsa, http, grpc, metrics] = [await freePort(), await freePort(), await freePort(), await freePort()]
    const { privateKey, publicKey } = generateKeyPairSync("ed25519")
    writeFileSync(join(folder, "rekor.pub"), publicKey.export({ type: "spki", format: "pem" }))
    writeFileSync(join(folder, "rekor.pem"), privateKey.export({ type: "pkcs8", format: "pem" }))
    const files = join(folder, "log")
    mkdirSync(files)
    const signer = ["--timestamp-signer", "memory", "--disable-ntp-monitoring"]
    await started(
      timestampServer,
      ["serve", "--host", "127.0.0.1", "--port", `${tsa}`, ...signer],
      `http://127.0.0.1:${tsa}/ping`,
    )
    const store = ["--storage-dir", files, "--signer-filepath", join(folder, "rekor.pem"), "--persistent-antispam"]
    const ports = ["--http-port", `${http}`, "--grpc-port", `${grpc}`, "--http-metrics-port", `${metrics}`]
    await started(
      rekorServer,
      ["serve", "--hostname", HOST, "--checkpoint-interval", "1s", ...store, ...ports],
      `http://127.0.0.1:${http}/healthz`,
    )
    const authority = `http://127.0.0.1:${tsa}/api/v1/timestamp`
    writeFileSync(join(folder, "chain.pem"), await (await fetch(`${authority}/certchain`)).text())
    const front = await frontOf(`http://127.0.0.1:${http}`, files)
    const log = ["--anchor", "rekor", "--rekor-version", "2", "--rekor-url", front, "--rekor-origin", HOST]
    const keys = ["--rekor-key", join(folder, "rekor.pub"), "--tsa-url", authority]
    const server = await startChild([
      ...["--data-dir", join(folder, "data"), "--rekor-in-flight", "4"],
      ...[...log, ...keys, "--tsa-chain", join(folder, "chain.pem")],
    ])
    for (let run = 0; run < 6; run++) await server.post("/execute", request())
    await until("every entry is in the log", async () => {
      const [standing] = listAt((await server.get("/log/outside")).body, "logs")
      return numberAt(standing, "next_index") === 13
    })
    expect(server.stdout()).toContain('"fault":"unreachable"')
    writeFileSync(join(folder, "trust.json"), (await server.get("/.well-known/runseal-trust.json")).text)
    for (let run = 1; run <= 6; run++) {
      writeFileSync(join(folder, "bundle.json"), (await server.get(`/runs/${run}/artifacts`)).text)
      const verified = await runVerifier(folder, ["bundle.json", "--trust", "trust.json"])
      expect(verified, verified.stdout).toMatchObject({ exit: 0 })
      expect(verified.stdout).toContain(`2 of its entries are also in ${HOST}, in time`)
    }
    await server.end("SIGTERM")
  },
)
