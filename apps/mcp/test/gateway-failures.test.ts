/** What happens when a server, the gateway or the service ends in the middle, and when a definition changes. Acts are counted against records. */

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import {
  type Agent,
  countedRecords,
  type Folder,
  gatewayWords,
  newFolder,
  type Service,
  startAgent,
  startService,
  until,
  WAITING,
} from "./gateway-fixture.ts"

const SERVER = fileURLToPath(new URL("changing-server.mjs", import.meta.url))
let folder: Folder
let service: Service
let calls: string
const agents: Agent[] = []

const words = (...options: readonly string[]): readonly string[] => [
  ...["--data-dir", folder.path, "--name", "changing", ...options],
  ...["--", process.execPath, SERVER, `${folder.path}/definition`, calls],
]
async function agentOf(...options: readonly string[]): Promise<Agent> {
  const agent = await startAgent(words(...options), { RUNSEAL_URL: service.url, ...WAITING })
  agents.push(agent)
  return agent
}
const act = (agent: Agent, args: Record<string, unknown> = {}) =>
  agent.client.callTool({ name: "act", arguments: args })
/** Calls that the server got. */
const acts = (): readonly string[] =>
  readFileSync(calls, "utf8")
    .split("\n")
    .filter(line => line !== "")
/** The run that a result names as its record, if it has one. */
const receiptOf = ({ _meta }: Awaited<ReturnType<typeof act>>): number | undefined =>
  Object(_meta?.["dev.runseal/receipt"]).run_id
/** Some servers would take each of these for a method that the gateway reads. */
const METHODS_IN_DISGUISE = [
  ...["Tools/Call", "tools/call ", "\ttools/call", "tools/call\u0000", "tools/\u200bcall", "tool\u017f/call"],
  ...["\uff54ools/call", "/tools/call", "tools//call", "tools.call", "Tools/list", "INITIALIZE", "server/Discover"],
  "notifications/Cancelled",
]

beforeAll(async () => {
  folder = newFolder()
  calls = folder.file("calls", "")
  service = await startService(`${folder.path}/records`)
})
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.close()
  folder.file("calls", "")
})
afterAll(async () => {
  await service?.stop()
  folder.remove()
})

test("what the server gets is what was hashed: canonical arguments, each member once", async () => {
  await act(await agentOf(), { b: 1, a: "\u20ac" })
  expect(acts()[0]).toContain('"arguments":{"a":"€","b":1}')
})

test("a changed definition is not shown and not called, and its refusal has a record", async () => {
  expect((await (await agentOf()).client.listTools()).tools).toHaveLength(1)
  folder.file("definition", "adds, and sends everything elsewhere")
  const refusing = await agentOf()
  expect((await refusing.client.listTools()).tools).toEqual([])
  const result = await act(refusing)
  expect(result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(/not the pinned one.*Receipt: run \d+/) }],
  })
  const marking = await agentOf("--pin", "mark")
  const meta = await until(async () => (await marking.client.listTools()).tools[0]?._meta)
  expect(meta).toMatchObject({ "dev.runseal/pin": { changed: true } })
  expect(await act(marking)).not.toHaveProperty("isError")
  expect(acts()).toHaveLength(1)
  folder.file("definition", "adds numbers")
})

test("a file of pins that is full pins no more: a further tool is not shown and not called", async () => {
  const full = newFolder()
  const lines = Array.from({ length: 10_000 }, (_, at) =>
    JSON.stringify({ tool: `tool-${at}`, sha256: "0".repeat(64) }),
  )
  mkdirSync(`${full.path}/pins`)
  full.file("pins/changing.jsonl", lines.join("\n"))
  const agent = await agentOf("--data-dir", full.path)
  expect((await agent.client.listTools()).tools).toEqual([])
  expect(await act(agent)).toMatchObject({ isError: true })
  expect(acts()).toEqual([])
  expect(agent.errors()).toContain("has no place for another tool")
  full.remove()
})

test("arguments that the service does not take are not called, also with --fail open", async () => {
  const open = await agentOf("--fail", "open")
  const text = "a".repeat(1_000_000)
  expect(await act(open, { text })).toMatchObject({ isError: true })
  expect(acts()).toEqual([])
  expect(await act(await agentOf("--mode", "observe"), { text })).not.toHaveProperty("isError")
  expect(acts()).toHaveLength(1)
})

test("an agent that reads no more: the call is sealed, and the gateway ends with its summary", async () => {
  const before = await countedRecords(service.runseal)
  const child = spawn(gatewayWords()[0] ?? "", [...gatewayWords(...words()).slice(1)], {
    env: { ...process.env, RUNSEAL_URL: service.url },
    stdio: ["pipe", "pipe", "pipe"],
  })
  let errors = ""
  child.stderr.setEncoding("utf8").on("data", text => (errors += text))
  await until(() => (errors.includes("enforcing") ? true : undefined))
  child.stdout.destroy()
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"act","arguments":{}}}\n')
  expect(await new Promise(ended => child.once("close", ended))).toBe(0)
  expect(errors).toContain("1 tool calls: 1 sealed as completed")
  const after = await countedRecords(service.runseal)
  expect(after).toEqual({ ...before, ok: (before.ok ?? 0) + 1 })
})

test("a result that is not I-JSON is withheld", async () => {
  const result = await act(await agentOf(), { big: true })
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("not I-JSON") }] })
})

test("a server that ends in a call: the call is sealed as failed, and the gateway ends with the server's code", async () => {
  const before = (await countedRecords(service.runseal)).failed ?? 0
  const result = await act(await agentOf(), { die: true })
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("the server has ended") }] })
  expect((await countedRecords(service.runseal)).failed).toBe(before + 1)
})

test("an agent that leaves in a call: the call is sealed as failed", async () => {
  const before = (await countedRecords(service.runseal)).failed ?? 0
  const agent = await agentOf()
  act(agent, { hang: true }).catch(() => undefined)
  await until(() => (acts().length === 1 ? true : undefined))
  await agent.close()
  await until(async () => ((await countedRecords(service.runseal)).failed === before + 1 ? true : undefined))
})

test("a gateway that is killed in a call leaves an open permit, which the service ends", async () => {
  const before = (await countedRecords(service.runseal)).open ?? 0
  const agent = await agentOf()
  act(agent, { hang: true }).catch(() => undefined)
  await until(() => (acts().length === 1 ? true : undefined))
  process.kill(agent.transport.pid ?? 0, "SIGKILL")
  expect((await countedRecords(service.runseal)).open).toBe(before + 1)
})

test("messages that two programs could read differently are refused and never reach the server", async () => {
  const child = spawn(gatewayWords()[0] ?? "", [...gatewayWords(...words()).slice(1)], {
    env: { ...process.env, RUNSEAL_URL: service.url },
    stdio: ["pipe", "pipe", "inherit"],
  })
  let output = ""
  child.stdout.setEncoding("utf8").on("data", text => (output += text))
  const call = '"jsonrpc":"2.0","id":1,"method":"tools/call"'
  for (const line of [
    `{${call},"params":{"name":"act","arguments":{"a":1},"arguments":{"a":2}}}`,
    `{${call},"method":"ping","params":{"name":"act"}}`,
    `{${call},"params":{"name":"act","Arguments":{"a":1}}}`,
    `{${call},"Params":{"name":"act"}}`,
    `[{${call},"params":{"name":"act"}}]`,
    `{${call},"params":{"name":"act","task":{}}}`,
    `{${call},"params":{"name":"act","arguments ":{"a":1}}}`,
    ...METHODS_IN_DISGUISE.map(method => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { name: "act" } })),
  ])
    child.stdin.write(`${line}\n`)
  await until(() => (output.trim().split("\n").length === 7 + METHODS_IN_DISGUISE.length ? true : undefined))
  expect(
    output
      .trim()
      .split("\n")
      .map(line => JSON.parse(line).error.code),
  ).toEqual([-32700, -32700, -32602, -32600, -32600, -32602, -32602, ...METHODS_IN_DISGUISE.map(() => -32601)])
  child.stdin.end()
  await new Promise(ended => child.once("close", ended))
  expect(acts()).toEqual([])
})

test("a service that ends: calls are not made, or made and counted with --fail open; the next record has the gap", async () => {
  const own = newFolder()
  const first = await startService(`${own.path}/records`)
  const closed = await startAgent(words(), { RUNSEAL_URL: first.url })
  const open = await startAgent(words("--fail", "open"), { RUNSEAL_URL: first.url })
  expect(await act(closed)).not.toHaveProperty("isError")
  expect(await act(open)).not.toHaveProperty("isError")
  const { port } = new URL(first.url)
  first.process.child.kill("SIGKILL")
  await first.process.ended
  const [refused, made] = await Promise.all([act(closed), act(open)])
  expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("there is no decision") }] })
  expect(made).not.toHaveProperty("isError")
  expect(acts()).toHaveLength(3)
  const second = await startService(`${own.path}/records`, "--port", port)
  // A decision that takes longer than a call waits is none: such a call is counted too.
  let unsealed = 0
  const run_id = await until(async () => {
    unsealed++
    return receiptOf(await act(open))
  })
  const { document } = await second.runseal.bundle(run_id)
  expect(JSON.stringify(document)).toContain(`"calls_without_record":${unsealed}`)
  for (const agent of [closed, open]) await agent.close()
  expect(open.errors()).toContain(`${unsealed} CALLED WITHOUT A RECORD`)
  const { open: late = 0, ...sealed } = await countedRecords(second.runseal)
  expect(sealed).toEqual({ ok: 3 })
  expect(late, "permits of decisions that came too late").toBeLessThan(unsealed)
  await second.stop()
  own.remove()
})

test("an observing gateway waits for nothing: a service that never answers delays no call, and each is counted", async () => {
  let waiting = 0
  const silent = createServer((_, response) => {
    waiting++
    response.once("close", () => waiting--)
  }).listen(0, "127.0.0.1")
  await once(silent, "listening")
  const { port } = silent.address() as AddressInfo
  const agent = await startAgent(words("--mode", "observe"), { RUNSEAL_URL: `http://127.0.0.1:${port}` })
  for (let at = 0; at < 6; at++) expect(await act(agent)).not.toHaveProperty("isError")
  // A call that waits for its decision waits until its request is given up.
  await until(() => waiting === 6)
  expect(acts()).toHaveLength(6)
  await agent.close()
  silent.close().closeAllConnections()
  expect(agent.errors()).toContain("6 tool calls: 6 CALLED WITHOUT A RECORD")
})

test("what it observed is sealed before it ends", async () => {
  const own = newFolder()
  const place = await startService(`${own.path}/records`)
  const agent = await startAgent(words("--mode", "observe"), { RUNSEAL_URL: place.url })
  await act(agent)
  // The first run of a service takes longer than the others.
  await until(async () => (await countedRecords(place.runseal)).ok === 1)
  for (let at = 0; at < 4; at++) await act(agent)
  await agent.close()
  expect(agent.errors()).toContain("5 tool calls: 5 sealed as completed")
  expect(await countedRecords(place.runseal)).toMatchObject({ ok: 5 })
  await place.stop()
  own.remove()
})
