/** Calls that people decide on: a real gateway and service, the official client, and a person with a key. docs/doors/mcp.md, "When people decide". */
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { ProgressNotificationSchema } from "@modelcontextprotocol/sdk/types.js"
import { createClient, type Client as Runseal } from "@runseal/sdk"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import {
  type Approver,
  approvalIn,
  approverBy,
  askingPolicy,
  mintAgentAndApprover,
} from "../../server/spec/harness/approving.ts"
import {
  type Agent,
  type Folder,
  gatewayWords,
  newFolder,
  run,
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
let apiKey: string
let runseal: Runseal
let approver: Approver
const agents: Agent[] = []

async function agentOf(...options: readonly string[]): Promise<Agent> {
  const server = ["--", process.execPath, SERVER, `${folder.path}/definition`, calls]
  const words = ["--data-dir", folder.path, "--name", "bank", ...options, ...server]
  const agent = await startAgent(words, { RUNSEAL_URL: service.url, RUNSEAL_API_KEY: apiKey, ...WAITING })
  agents.push(agent)
  return agent
}
let counted = 0
/** Other arguments each time, unless they are given. */
const act = (agent: Agent, count = ++counted, more: Record<string, unknown> = {}) =>
  agent.client.callTool({ name: "act", arguments: { count }, ...more })
const textOf = (result: Awaited<ReturnType<typeof act>>): string => JSON.stringify(result.content)
/** Calls that the server got. */
const acts = (): number => readFileSync(calls, "utf8").split("\n").length - 1
async function newestPermit() {
  for await (const permit of runseal.permits.list({ limit: 1 })) return permit
  return undefined
}

beforeAll(async () => {
  folder = newFolder()
  calls = folder.file("calls", "")
  const policy = folder.file("policy.json", JSON.stringify(askingPolicy('context.bound.route_id == "mcp/bank/act"')))
  service = await startService(`${folder.path}/records`, "--policy", policy, "--approvals", "on")
  const as = (key: string): Runseal => createClient({ baseUrl: service.url, apiKey: key })
  const keys = await mintAgentAndApprover(service.runseal, as)
  apiKey = keys.agent
  runseal = as(keys.agent)
  approver = approverBy(as(keys.approver))
})
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.close()
  folder.file("calls", "")
})
afterAll(async () => {
  await service?.stop()
  folder.remove()
})

test("a call that people decide on is a tool error that says so and where; the same call again is made, once", async () => {
  const agent = await agentOf("--fail", "open")
  const count = ++counted
  const asked = await act(agent, count)
  expect(asked.isError).toBe(true)
  expect(textOf(asked)).toMatch(
    /"Runseal: People decide on this call, until \S+Z: http:\S+\/console\/approval\?id=apr-/,
  )
  const approval_id = approvalIn(textOf(asked))
  expect(asked._meta).toMatchObject({ "dev.runseal/approval": { approval_id } })
  expect(approvalIn(textOf(await act(agent, count)))).toBe(approval_id)
  expect(acts()).toBe(0)
  await approver.decide(approval_id, "approve")
  // Another session of the same agent finds it too.
  const made = await act(await agentOf(), count)
  expect(made).toMatchObject({ content: [{ type: "text", text: "done" }] })
  expect(await newestPermit()).toMatchObject({ state: "closed", redeemed_at: expect.any(String) })
  // Approved was one call: for another one people are asked anew.
  expect(approvalIn(textOf(await act(agent, count)))).not.toBe(approval_id)
  expect(acts()).toBe(1)
  await approver.decideAll("reject")
})

test("a call that people rejected is refused, and says why", async () => {
  const refused = act(await agentOf("--fail", "open", "--approval-wait", "60"))
  await until(async () => (await approver.waiting())[0])
  await approver.decideAll("reject")
  const answer = await refused
  expect(answer.isError).toBe(true)
  expect(textOf(answer)).toMatch(/APPROVAL_REJECTED.*Receipt: run \d+/)
  expect(acts()).toBe(0)
})

test("with --approval-wait a call waits, tells its progress to who asked for it, and is made", async () => {
  const agent = await agentOf("--approval-wait", "60")
  const messages: string[] = []
  const progress: number[] = []
  agent.client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => {
    messages.push(`${params.progressToken} ${params.message}`)
    progress.push(params.progress)
    if (messages.length === 2) void approver.decideAll("approve")
  })
  const made = await act(agent, ++counted, { _meta: { progressToken: "waits" } })
  expect(made).toMatchObject({ content: [{ type: "text", text: "done" }] })
  expect(messages[0]).toMatch(
    /^waits Runseal: People decide on this call, until \S+: http:\S+\/console\/approval\?id=apr-/,
  )
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
  expect(acts()).toBe(1)
}, 60_000)

test("at the end of the wait a call is not made, also where the gateway fails open", async () => {
  const answer = await act(await agentOf("--approval-wait", "1", "--fail", "open"))
  expect(textOf(answer)).toContain("People decide on this call")
  expect(acts()).toBe(0)
  await approver.decideAll("reject")
})

test("over HTTP a call waits silently, and is made", async () => {
  let paid = 0
  const upstream = createServer(async (request, response) => {
    let body = ""
    for await (const chunk of request) body += chunk
    const { id, method } = JSON.parse(body)
    if (method === "tools/call") paid++
    const tool = { name: "act", description: "Pays.", inputSchema: { type: "object" } }
    const result = method === "tools/list" ? { tools: [tool] } : { content: [{ type: "text", text: "paid" }] }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }))
  })
  await new Promise<void>(listening => upstream.listen(0, "127.0.0.1", listening))
  const place = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`
  const words = ["--data-dir", `${folder.path}/http`, "--name", "bank", "--upstream", place, "--listen", "0"]
  const gateway = run(gatewayWords(...words, "--approval-wait", "60"), {
    ...process.env,
    RUNSEAL_URL: service.url,
    RUNSEAL_API_KEY: apiKey,
  })
  const url = await until(() => /listening on (http:\/\/127\.0\.0\.1:\d+)$/m.exec(gateway.output())?.[1])
  const params = { name: "act", arguments: { over: "http" } }
  const answer = fetch(`${url}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  })
  await until(async () => (await approver.waiting())[0])
  expect(paid).toBe(0)
  await approver.decideAll("approve")
  expect(await (await answer).text()).toContain("paid")
  expect(paid).toBe(1)
  gateway.child.kill("SIGTERM")
  await gateway.ended
  upstream.closeAllConnections()
  upstream.close()
}, 60_000)

test("nobody is asked for a call whose tool is not the pinned one: its request is withdrawn", async () => {
  expect(textOf(await act(await agentOf()))).toContain("People decide on this call")
  await approver.decideAll("reject")
  folder.file("definition", "takes money")
  expect(textOf(await act(await agentOf()))).toContain("definition is not the pinned one")
  expect(await approver.waiting()).toEqual([])
  folder.file("definition", "adds numbers")
})

test("where calls are observed nobody is asked", async () => {
  const agent = await agentOf("--mode", "observe")
  expect(await act(agent)).toMatchObject({ content: [{ type: "text", text: "done" }] })
  await agent.close()
  expect(await approver.waiting()).toEqual([])
  expect(acts()).toBe(1)
})

test("a wait is at most 600 seconds", async () => {
  await expect(agentOf("--approval-wait", "601")).rejects.toThrow()
})
