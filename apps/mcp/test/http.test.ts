/** Streamable HTTP in front of the gateway and behind it, in the version without sessions and in those before it. */
import { readFileSync } from "node:fs"
import { createServer } from "node:net"
import { fileURLToPath } from "node:url"
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  countedRecords,
  EVERYTHING,
  type Folder,
  gatewayWords,
  newFolder,
  type Running,
  run,
  SERVERS,
  type Service,
  startAgent,
  startService,
  until,
} from "./gateway-fixture.ts"

const MODERN = fileURLToPath(new URL("modern-server.mjs", import.meta.url))
const CONFORMING = fileURLToPath(new URL("conformance-server.ts", import.meta.url))
const CONFORMANCE = `${SERVERS}/conformance/dist/index.js`

let folder: Folder
let service: Service
const processes: Running[] = []
const places = { everything: "", modern: "", conforming: "" }
const gateways = { everything: "", modern: "", conforming: "" }
let modern: Running
let notes: string

const freePort = (): Promise<number> =>
  new Promise(resolve => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })
const started = (words: readonly string[], env: Record<string, string> = {}): Running => {
  const running = run(words, { ...process.env, ...env })
  processes.push(running)
  return running
}
async function gatewayTo(name: string, upstream: string): Promise<string> {
  const words = gatewayWords("--data-dir", folder.path, "--name", name, "--upstream", upstream, "--listen", "0")
  const gateway = started(words, { RUNSEAL_URL: service.url })
  return await until(() => /listening on (http:\/\/127\.0\.0\.1:\d+)$/m.exec(gateway.output())?.[1])
}
const answers = async (url: string): Promise<true | undefined> =>
  await fetch(url, { method: "DELETE" })
    .then(() => true as const)
    .catch(() => undefined)

beforeAll(async () => {
  folder = newFolder()
  notes = folder.file("notes", "")
  service = await startService(`${folder.path}/records`)
  const [first, second, third] = [await freePort(), await freePort(), await freePort()]
  places.everything = `http://127.0.0.1:${first}/mcp`
  places.modern = `http://127.0.0.1:${second}/mcp`
  started([process.execPath, EVERYTHING, "streamableHttp"], { PORT: `${first}` })
  places.conforming = `http://127.0.0.1:${third}/mcp`
  started([process.execPath, CONFORMING, `${third}`])
  modern = started([process.execPath, MODERN, `${second}`, notes])
  for (const place of Object.values(places)) await until(() => answers(place))
  gateways.everything = await gatewayTo("everything", places.everything)
  gateways.modern = await gatewayTo("modern", places.modern)
  gateways.conforming = await gatewayTo("conforming", places.conforming)
})
afterAll(async () => {
  for (const { child } of processes) child.kill("SIGTERM")
  await Promise.all(processes.map(({ ended }) => ended))
  await service?.stop()
  folder.remove()
})
const receiptIn = (result: { _meta?: Record<string, unknown> | undefined }) => result._meta?.["dev.runseal/receipt"]

test("an agent of an older version: session, progress, receipt", async () => {
  const client = new Client({ name: "agent", version: "1" })
  await client.connect(new StreamableHTTPClientTransport(new URL(gateways.everything)))
  const steps: number[] = []
  const request = { name: "trigger-long-running-operation", arguments: { duration: 0.3, steps: 3 } }
  const result = await client.callTool(request, undefined, { onprogress: ({ progress }) => steps.push(progress) })
  expect(steps).toEqual([1, 2, 3])
  expect(receiptIn(result)).toMatchObject({ outcome: "ok" })
  await client.close()
})

test("an agent on stdio: the gateway speaks HTTP to the server", async () => {
  const words = ["--data-dir", folder.path, "--name", "everything", "--upstream", places.everything]
  const agent = await startAgent(words, { RUNSEAL_URL: service.url })
  const result = await agent.client.callTool({ name: "echo", arguments: { message: "hi" } })
  expect(result).toMatchObject({ content: [{ text: "Echo: hi" }], _meta: { "dev.runseal/receipt": { outcome: "ok" } } })
  await agent.close()
})

test("an agent of 2026-07-28: no session, headers and token pass, and the record names the server as it names itself", async () => {
  const client = new ModernClient(
    { name: "agent", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  )
  const requestInit = { headers: { authorization: "Bearer of-the-agent" } }
  await client.connect(new ModernTransport(new URL(gateways.modern), { requestInit }))
  const result = await client.callTool({ name: "greet", arguments: {} })
  expect(result).toMatchObject({ content: [{ text: "hello" }] })
  expect(receiptIn(result)).toMatchObject({ outcome: "ok" })
  expect(readFileSync(notes, "utf8")).toContain("Bearer of-the-agent tools/call greet")
  expect(processes.map(({ output }) => output()).join("")).not.toContain("of-the-agent")
  await client.close()
})

const post = (url: string, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "greet", arguments: {} } }),
  })

test("a challenge of the server reaches the agent, and the call is sealed as failed", async () => {
  // From here on the gateway knows the server's tools.
  await (await post(gateways.modern)).text()
  const before = (await countedRecords(service.runseal)).failed ?? 0
  const answer = await post(gateways.modern, { authorization: "Bearer expired" })
  expect(answer.status).toBe(401)
  expect(answer.headers.get("www-authenticate")).toContain("auth.example")
  expect((await countedRecords(service.runseal)).failed).toBe(before + 1)
})

test("a page of another site is refused", async () => {
  expect((await post(gateways.modern, { origin: "https://evil.example" })).status).toBe(403)
})

test("the conformance suite finds through the gateway what it finds without it", async () => {
  const verdicts = async (url: string): Promise<readonly string[]> => {
    const suite = started([process.execPath, CONFORMANCE, "server", "--url", url])
    await suite.ended
    return [...suite.output().matchAll(/^[✓✗] (?!dns-rebinding).*$/gm)].map(([line]) => line)
  }
  const direct = await verdicts(places.conforming)
  expect(direct.filter(line => line.startsWith("✓")).length).toBeGreaterThan(25)
  const sealed = async (): Promise<number> => (await countedRecords(service.runseal)).ok ?? 0
  const before = await sealed()
  expect(await verdicts(`${gateways.conforming}/mcp`)).toEqual(direct)
  // Content of every kind, progress, logging, sampling and elicitation.
  expect(await sealed()).toBe(before + 9)
})

test("a server that is gone: a tool error, sealed as NOT_EXECUTED", async () => {
  modern.child.kill("SIGKILL")
  await modern.ended
  const answer = await (await post(gateways.modern)).json()
  expect(answer).toMatchObject({
    result: { isError: true, content: [{ text: expect.stringContaining("cannot be reached") }] },
  })
  const { document } = await service.runseal.bundle(answer.result._meta["dev.runseal/receipt"].run_id)
  expect(JSON.stringify(document)).toContain('"code":"NOT_EXECUTED"')
})
