/** `--end-user-from authorization`: the person whose token the agent has is in the record. docs/doors/mcp.md, "Options". */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { JsonObject } from "@runseal/canonical"
import { afterAll, beforeAll, expect, test } from "vitest"
import { AUDIENCE } from "../../server/spec/harness/hostile-provider.ts"
import { type OpenIdProvider, startOpenIdProvider } from "../../server/spec/harness/openid-provider.ts"
import {
  type Folder,
  gatewayWords,
  newFolder,
  type Running,
  run,
  type Service,
  startService,
  until,
  WAITING,
} from "./gateway-fixture.ts"

let folder: Folder
let provider: OpenIdProvider
let service: Service
let gateway: Running
let url: string
const calls: string[] = []
const upstream = createServer(async (request, response) => {
  let body = ""
  for await (const chunk of request) body += chunk
  const { id, method, params } = JSON.parse(body)
  if (method === "tools/call") calls.push(params.name)
  const tool = { name: "pay", description: "Pays.", inputSchema: { type: "object" } }
  const result = method === "tools/list" ? { tools: [tool] } : { content: [{ type: "text", text: "paid" }] }
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }))
})

beforeAll(async () => {
  folder = newFolder()
  provider = await startOpenIdProvider()
  const identity = ["--issuer", provider.issuer, "--end-user-audience", AUDIENCE, "--end-user", "required"]
  service = await startService(folder.path, ...identity)
  await new Promise<void>(listening => upstream.listen(0, "127.0.0.1", listening))
  const place = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`
  const words = ["--data-dir", folder.path, "--name", "bank", "--upstream", place, "--listen", "0", "--fail", "open"]
  gateway = run(gatewayWords(...words, "--end-user-from", "authorization"), {
    ...process.env,
    RUNSEAL_URL: service.url,
    ...WAITING,
  })
  url = await until(() => /listening on (http:\/\/127\.0\.0\.1:\d+)$/m.exec(gateway.output())?.[1])
}, 120_000)
afterAll(async () => {
  gateway.child.kill("SIGTERM")
  await gateway.ended
  upstream.closeAllConnections()
  upstream.close()
  await service.stop()
  await provider.close()
  folder.remove()
})

let id = 0
async function pay(authorization?: string): Promise<JsonObject> {
  const answer = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(authorization === undefined ? {} : { authorization }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: ++id, method: "tools/call", params: { name: "pay", arguments: {} } }),
  })
  return await answer.json()
}

test("a call of a person's agent is sealed for this person", async () => {
  const { access_token } = await provider.signIn("grace")
  const answer = await pay(`Bearer ${access_token}`)
  expect(JSON.stringify(answer)).toContain("paid")
  const sealed: number[] = []
  for await (const run of service.runseal.search({ route_id: "mcp/bank/pay" })) sealed.push(run.id)
  const { document } = await service.runseal.bundle(sealed[0] ?? 0)
  expect(document).toMatchObject({ sections: { end_user: { subject: "grace", issuer: provider.issuer } } })
  expect(gateway.output() + service.process.output()).not.toContain(access_token)
}, 60_000)

test.each([
  ["nobody", undefined, "end_user_required"],
  ["what is no token", "Basic YTpi", "must be a JWT"],
  ["a token of another", "Bearer a.b.c", "not accepted"],
])(
  "a call for %s is not made, also where calls go on without a service",
  async (_, authorization, why) => {
    const before = calls.length
    const answer = await pay(authorization)
    expect(JSON.stringify(answer)).toContain("the call was not made")
    expect(JSON.stringify(answer)).toContain(why === "end_user_required" ? "X-End-User-Token" : why)
    expect(calls).toHaveLength(before)
  },
  60_000,
)

test("an agent that speaks stdio has no header to take it from", async () => {
  const words = gatewayWords("--upstream", "http://127.0.0.1:1/", "--end-user-from", "authorization")
  const stopped = run(words)
  expect(await stopped.ended).not.toBe(0)
  expect(stopped.output()).toContain("--end-user-from needs --listen")
})
