/** A call that people decide on, whose service goes away between two requests of one event. docs/doors/claude-code.md, "When people decide". */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { createClient, type Client as Runseal } from "@runseal/sdk"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type Folder, newFolder, type Service, startService } from "../../mcp/test/gateway-fixture.ts"
import {
  type Approver,
  approvalIn,
  approverBy,
  askingPolicy,
  mintAgentAndApprover,
} from "../../server/spec/harness/approving.ts"
import { HOOKS, ran } from "./command-fixture.ts"

let folder: Folder
let service: Service
let line: Server
let apiKey: string
let approver: Approver
/** Requests for permits that the line still passes on; the next one loses its connection. */
let passed = Number.POSITIVE_INFINITY

beforeAll(async () => {
  folder = newFolder()
  const policy = folder.file("policy.json", JSON.stringify(askingPolicy('context.bound.route_id == "codex/Bash"')))
  service = await startService(`${folder.path}/records`, "--policy", policy, "--approvals", "on")
  const as = (key: string): Runseal => createClient({ baseUrl: service.url, apiKey: key })
  const keys = await mintAgentAndApprover(service.runseal, as)
  apiKey = keys.agent
  approver = approverBy(as(keys.approver))
  line = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    if (request.url === "/permits" && --passed < 0) return void request.socket.destroy()
    const { host: _, connection: __, "transfer-encoding": ___, ...headers } = request.headers
    const answer = await fetch(`${service.url}${request.url}`, {
      method: request.method ?? "",
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, `${value}`]),
      ...(body.length === 0 ? {} : { body }),
    })
    const { "content-encoding": ____, "transfer-encoding": _____, ...rest } = Object.fromEntries(answer.headers)
    response.writeHead(answer.status, rest).end(Buffer.from(await answer.arrayBuffer()))
  })
  await new Promise<void>(listening => line.listen(0, "127.0.0.1", listening))
})
afterAll(async () => {
  line?.close()
  await service?.stop()
  folder.remove()
})

test("without an answer to its second request the call is denied, also where hooks fail open; then it is made once", async () => {
  const { port } = line.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const decision = async () => {
    const { stdout, stderr } = await ran(
      [process.execPath, HOOKS, "event", "--for", "codex", "--url", url, "--settings", "fail=open"],
      {
        env: { ...process.env, RUNSEAL_API_KEY: apiKey, HOME: folder.path, XDG_STATE_HOME: `${folder.path}/state` },
        cwd: folder.path,
        input: JSON.stringify({
          ...{ session_id: "s1", cwd: folder.path, tool_name: "Bash", tool_use_id: "call_1" },
          ...{ tool_input: { command: "deploy" }, hook_event_name: "PreToolUse" },
        }),
      },
    )
    expect(stdout, stderr).not.toBe("")
    return `${JSON.parse(stdout).hookSpecificOutput?.permissionDecisionReason ?? "permitted"}`
  }
  await approver.decide(approvalIn(await decision()), "approve")
  passed = 1
  expect(await decision()).toContain("not made")
  expect(passed).toBe(-1)
  passed = Number.POSITIVE_INFINITY
  expect(await decision()).toBe("permitted")
})
