/** The service in a folder of the user: started by the first of several gateways, killed in the middle, and there again. */
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { createServer } from "node:net"
import { fileURLToPath } from "node:url"
import { createClient } from "@runseal/sdk"
import { expect, test } from "vitest"
import {
  type Agent,
  countedRecords,
  gatewayWords,
  newFolder,
  processesOf,
  startAgent,
  until,
} from "./gateway-fixture.ts"

const SERVER = fileURLToPath(new URL("changing-server.mjs", import.meta.url))

test("two gateways share it; killed, it comes back at its address with its records, although another program has its other port", async () => {
  const folder = newFolder()
  const dataDir = `${folder.path}/data`
  const gateway = (name: string): Promise<Agent> =>
    startAgent(
      ["--data-dir", dataDir, "--name", name, "--", process.execPath, SERVER, `${dataDir}/none`, folder.file(name, "")],
      { RUNSEAL_URL: "" },
    )
  const agents = await Promise.all([gateway("first"), gateway("second")])
  const act = (agent: Agent) => agent.client.callTool({ name: "act", arguments: {} })
  for (const agent of agents) expect(await act(agent)).not.toHaveProperty("isError")

  for (const pid of processesOf(dataDir)) process.kill(pid, "SIGKILL")
  const { url, lease_port } = JSON.parse(readFileSync(`${dataDir}/service.json`, "utf8"))
  const other = createServer().listen(lease_port, "127.0.0.1")
  other.once("error", () => undefined)
  for (const agent of agents) await until(async () => ((await act(agent)).isError === true ? undefined : true))

  const runseal = createClient({ baseUrl: url, apiKey: readFileSync(`${dataDir}/service-key`, "utf8").trim() })
  expect((await countedRecords(runseal)).ok).toBe(4)
  other.close()
  for (const agent of agents) await agent.close()
  for (const pid of processesOf(dataDir)) process.kill(pid, "SIGTERM")
  await until(() => (processesOf(dataDir).length === 0 ? true : undefined))
  folder.remove()
})

type Answer = { readonly id?: number; readonly method?: string; readonly error?: unknown }
/** An agent that writes lines, and the ids of what was answered so far. */
function rawAgent(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const [program = "", ...args] = words
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "ignore"] })
  let output = ""
  child.stdout.setEncoding("utf8").on("data", text => (output += text))
  const answers = (): readonly Answer[] =>
    output
      .split("\n")
      .slice(0, -1)
      .map(line => JSON.parse(line))
  return {
    send: (id: number, method: string, params: object = {}) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`),
    answerTo: (id: number) => until(() => answers().find(answer => answer.id === id)),
    notified: (method: string) => until(() => answers().find(answer => answer.method === method)),
    answered: () => answers().map(({ id }) => id),
    end: () => {
      child.stdin.end()
      return new Promise<number | null>(ended => child.once("close", ended))
    },
  }
}

test("initialize and tools/list are answered while it starts; a call waits for it", async () => {
  const folder = newFolder()
  const dataDir = `${folder.path}/data`
  const DESCRIPTION = "adds one and another"
  const server = [process.execPath, SERVER, folder.file("definition", DESCRIPTION), folder.file("calls", "")]
  const agent = rawAgent(gatewayWords("--data-dir", dataDir, "--", ...server), { RUNSEAL_URL: "" })
  // The service cannot start meanwhile.
  const [keeper = 0] = await until(() => (processesOf(dataDir).length > 0 ? processesOf(dataDir) : undefined))
  process.kill(keeper, "SIGSTOP")
  agent.send(1, "initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "a", version: "1" },
  })
  agent.send(2, "tools/list")
  agent.send(3, "tools/call", { name: "act", arguments: {} })
  expect(await agent.answerTo(1)).toHaveProperty("result.serverInfo.name", "changing")
  // Nothing that the server wrote for the model before it is reviewed.
  expect(await agent.answerTo(2)).toHaveProperty("result.tools", [
    {
      name: "act",
      description: "Runseal: this description is not reviewed yet.",
      inputSchema: { type: "object", properties: { count: { type: "integer" } }, required: ["count"] },
    },
  ])
  expect(agent.answered()).not.toContain(3)
  process.kill(keeper, "SIGCONT")
  expect(await agent.answerTo(3)).toHaveProperty(["result", "_meta", "dev.runseal/receipt", "outcome"], "ok")
  await agent.notified("notifications/tools/list_changed")
  agent.send(4, "tools/list")
  expect(await agent.answerTo(4)).toHaveProperty("result.tools.0.description", DESCRIPTION)
  expect(await agent.end()).toBe(0)
  for (const pid of processesOf(dataDir)) process.kill(pid, "SIGTERM")
  await until(() => (processesOf(dataDir).length === 0 ? true : undefined))
  folder.remove()
})

test("a gateway that cannot start says why in answer to each request", async () => {
  const agent = rawAgent(gatewayWords("--mode", "perhaps", "--", "a-server"))
  agent.send(1, "initialize")
  agent.send(2, "tools/list")
  for (const id of [1, 2])
    expect(await agent.answerTo(id)).toMatchObject({
      error: { code: -32603, message: "Runseal: --mode is one of enforce, observe" },
    })
  expect(await agent.end()).toBe(1)
})
