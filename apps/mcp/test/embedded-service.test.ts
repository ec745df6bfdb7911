/** The service in a folder of the user: started by the first of several gateways, killed in the middle, and there again. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { createServer } from "node:net"
import { fileURLToPath } from "node:url"
import { createClient } from "@runseal/sdk"
import { expect, test } from "vitest"
import { type Agent, countedRecords, newFolder, startAgent, until } from "./gateway-fixture.ts"

const SERVER = fileURLToPath(new URL("changing-server.mjs", import.meta.url))

/** Processes of the embedded service of a folder. */
const processesOf = (dataDir: string): readonly number[] =>
  execFileSync("ps", ["-eo", "pid=,args="])
    .toString()
    .split("\n")
    .filter(line => line.includes(dataDir) && /embedded-keeper|runseal-server/.test(line))
    .map(line => Number.parseInt(line, 10))

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
