/**
 * Claude Code itself, when `claude` is on PATH, with the plugin of examples/claude-code-plugin and a model that follows a script. Every call
 * of a tool is counted against the records.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { createServer, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { JsonObject } from "@runseal/canonical"
import { afterAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { listenOn } from "../harness/raw-socket.ts"
import { listAt, textAt } from "../harness/read-answer.ts"
import { openService, type TestService } from "../harness/test-service.ts"

const claude = (process.env.PATH ?? "")
  .split(delimiter)
  .map(path => join(path, "claude"))
  .find(path => existsSync(path))
const title = claude === undefined ? " (not run: claude not found on PATH)" : ""
const PLUGIN = fileURLToPath(new URL("../../../../examples/claude-code-plugin", import.meta.url))
const ADDRESS = "http://127.0.0.1:8080"
const TIMEOUT_MS = 120_000

const folder = testFolder("runseal-claude")
const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.close().closeAllConnections()
})

type Use = { readonly id: string; readonly name: string; readonly input: JsonObject }

/** A model that calls one tool after the other, whatever it is sent. The results of the calls are added to `sent`. */
async function scriptedModel(script: readonly Use[], sent: string[]): Promise<string> {
  let at = 0
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(Buffer.from(part))
    const { tools = [], messages = [] } = JSON.parse(Buffer.concat(parts).toString() || "{}")
    if (!request.url?.startsWith("/v1/messages") || request.url.includes("count_tokens")) {
      response.writeHead(404, { "Content-Type": "application/json" }).end("{}")
      return
    }
    sent.push(JSON.stringify(messages.slice(-2)))
    const use = tools.length === 0 ? undefined : script[at++]
    writeMessage(response, use)
  }).listen(0, "127.0.0.1")
  servers.push(server)
  await once(server, "listening")
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function writeMessage(response: ServerResponse, use: Use | undefined): void {
  response.writeHead(200, { "Content-Type": "text/event-stream" })
  const event = (type: string, data: object): void =>
    void response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
  const usage = { input_tokens: 10, output_tokens: 1 }
  const message = { id: "msg_1", type: "message", role: "assistant", model: "scripted", content: [], usage }
  event("message_start", { message })
  const block =
    use === undefined ? { type: "text", text: "" } : { type: "tool_use", id: use.id, name: use.name, input: {} }
  event("content_block_start", { index: 0, content_block: block })
  const text = { type: "text_delta", text: "done" }
  const delta = use === undefined ? text : { type: "input_json_delta", partial_json: JSON.stringify(use.input) }
  event("content_block_delta", { index: 0, delta })
  event("content_block_stop", { index: 0 })
  event("message_delta", { delta: { stop_reason: use === undefined ? "end_turn" : "tool_use" }, usage })
  event("message_stop", {})
  response.end()
}

/** The plugin, for a service at another address. */
function pluginFor(url: string, query: string): string {
  const place = mkdtempSync(join(folder, "plugin-"))
  cpSync(PLUGIN, place, { recursive: true })
  const file = join(place, "hooks/hooks.json")
  const hooks = readFileSync(file, "utf8")
  expect(hooks).toContain(`${ADDRESS}/hooks/claude-code`)
  writeFileSync(file, hooks.replaceAll(`${ADDRESS}/hooks/claude-code`, `${url}/hooks/claude-code${query}`))
  return place
}

/** One session of Claude Code. Gives what the model was sent. */
async function session(
  url: string,
  script: readonly Use[],
  query = "",
  options: readonly string[] = [],
): Promise<string> {
  const sent: string[] = []
  const model = await scriptedModel(script, sent)
  const home = mkdtempSync(join(folder, "home-"))
  const work = join(home, "work")
  mkdirSync(work)
  const settings = JSON.stringify({ permissions: { allow: ["Bash(echo:*)", "Bash(exit:*)"] } })
  const args = ["-p", "go", "--plugin-dir", pluginFor(url, query), "--settings", settings, ...options]
  const child = spawn(claude ?? "", args, {
    cwd: work,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: "local",
      RUNSEAL_API_KEY: "rsk_unused",
      IS_SANDBOX: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", part => (output += String(part)))
  const [code] = await once(child, "exit")
  expect(code, output).toBe(0)
  return sent.join("\n")
}

const bash = (id: string, command: string): Use => ({
  id: `toolu_${id}`,
  name: "Bash",
  input: { command, description: "x" },
})

const endings = async (service: TestService): Promise<string[]> =>
  listAt((await service.get("/runs")).body, "runs")
    .map(
      run =>
        `${textAt(run, "route_id")} ${textAt(run, "outcome_kind")} ${JSON.stringify(run).match(/"closing_outcome":"(\w+)"/)?.[1] ?? "-"}`,
    )
    .reverse()

const POLICY = {
  policy_id: "tools",
  policy_name: "Tools",
  required_attested_fields: [],
  rules: [
    { id: "permit", effect: "allow" },
    { id: "no-write", effect: "deny", when: 'context.bound.route_id == "claude-code/Write"' },
  ],
}

describe.skipIf(claude === undefined)(`Claude Code${title}`, () => {
  test("every call is a record: done, failed, refused", { timeout: TIMEOUT_MS }, async () => {
    const service = await openService({ policy: POLICY })
    const { url, stop } = await listenOn(service)
    try {
      const write = { id: "toolu_c", name: "Write", input: { file_path: "x.txt", content: "x" } }
      const script = [bash("a", "echo hello"), bash("b", "exit 3"), write, bash("d", "echo again")]
      const seen = await session(url, script, "", ["--dangerously-skip-permissions"])
      expect(await endings(service)).toEqual([
        "claude-code/Bash ok completed",
        "claude-code/Bash ok failed",
        "claude-code/Write pepg_deny -",
        "claude-code/Bash ok completed",
      ])
      expect(seen).toContain("Refused by Runseal, rule no-write: ")
      expect(seen).toContain("run 3.")
    } finally {
      await stop()
      await service.close()
    }
  })

  test("a refused result of Bash is withheld from the model", { timeout: TIMEOUT_MS }, async () => {
    const service = await openService()
    const { url, stop } = await listenOn(service)
    try {
      const secret = `ghp_${"q7Zt3XvB9mKd2LwR5nYc8HsJ4fPg6AeU1oTi"}`
      const seen = await session(
        url,
        [bash("a", `echo ${secret.slice(0, 12)}""${secret.slice(12)}`)],
        "?capture_content=true",
      )
      expect(await endings(service)).toEqual(["claude-code/Bash aivp_t4_halt completed"])
      expect(seen).not.toContain(secret)
      expect(seen).toContain("Refused by Runseal")
    } finally {
      await stop()
      await service.close()
    }
  })

  test("without the service no tool is called", { timeout: TIMEOUT_MS }, async () => {
    const seen = await session("http://127.0.0.1:9", [bash("a", "echo hello")])
    expect(seen).toContain('blocking because onFailure is \\"block\\"')
  })
})
