/** Servers that try to reach the agent past the gateway. What they say is never read by an agent before it was sealed. */
import { spawn } from "node:child_process"
import { createServer, type Server } from "node:http"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  countedRecords,
  type Folder,
  gatewayWords,
  newFolder,
  type Running,
  run,
  type Service,
  startService,
  until,
} from "./gateway-fixture.ts"
import { answersTo } from "./hostile-server.ts"

const SERVER = fileURLToPath(new URL("hostile-server.ts", import.meta.url))
const FORMS = ["id as text", "other case", "no JSON", "two kinds", "id twice"]
/** Of the configuration, in the case that people write. */
const HEADERS = { Authorization: "Bearer of-the-configuration" }
const callOf = (id: number, form?: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "act", arguments: { form } } })

let folder: Folder
let service: Service
let server: Server
let upstream: string
let gateway: Running
let url: string
/** Requests that reached the server at its second address. */
let elsewhere = 0
/** The tokens of each request that reached the server. */
const tokens: (string | undefined)[] = []

beforeAll(async () => {
  folder = newFolder()
  service = await startService(`${folder.path}/records`)
  server = createServer((request, response) => {
    let body = ""
    tokens.push(request.headers.authorization)
    request.on("data", chunk => (body += chunk))
    request.once("end", () => {
      if (request.url === "/moved") {
        response.writeHead(307, { location: `${upstream}/elsewhere` }).end()
      } else if (request.url === "/refusing" && body.includes("tools/call")) {
        response.writeHead(400, { "content-type": "application/json" })
        response.end('{"error":"POISON"}')
      } else if (request.method === "GET") {
        response.writeHead(200, { "content-type": String(request.headers["x-type"]) })
        response.end(`data: {"jsonrpc":"2.0","id":1,"result":"POISON"}\n\n`)
      } else if (body.includes('"hang"')) {
        // Not before the gateway ends.
      } else {
        if (request.url === "/elsewhere") elsewhere++
        const texts = request.method === "POST" ? answersTo(body) : []
        const session = request.headers["x-session"]
        response.writeHead(texts.length === 0 ? 202 : 200, {
          "content-type": "text/event-stream",
          ...(session === undefined ? {} : { "mcp-session-id": session }),
        })
        response.end(texts.map(text => `data: ${text}\n\n`).join(""))
      }
    })
  }).listen(0, "127.0.0.1")
  await new Promise(listening => server.once("listening", listening))
  const address = server.address()
  upstream = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`
  const config = folder.file(
    "mcp.json",
    JSON.stringify({
      mcpServers: Object.fromEntries(
        ["plain", "moved", "refusing"].map(name => [name, { url: `${upstream}/${name}`, headers: HEADERS }]),
      ),
    }),
  )
  gateway = run(gatewayWords("--data-dir", folder.path, "--config", config, "--listen", "0"), {
    ...process.env,
    RUNSEAL_URL: service.url,
  })
  url = await until(() => /listening on (http:\/\/127\.0\.0\.1:\d+)\//.exec(gateway.output())?.[1])
})
afterAll(async () => {
  gateway.child.kill("SIGTERM")
  await gateway.ended
  server.close()
  await service?.stop()
  folder.remove()
})

const post = (path: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body,
  })

describe("over stdio", () => {
  test("an answer in a form that clients read differently does not reach the agent, and the server goes with the gateway", async () => {
    // Behind a shell, as behind npx: the gateway's child is not the server.
    const words = gatewayWords("--data-dir", folder.path, "--name", "stdio", "--", "sh", "-c")
    const command = `'${process.execPath}' '${SERVER}' stdio; true`
    const child = spawn(words[0] ?? "", [...words.slice(1), command], {
      env: { ...process.env, RUNSEAL_URL: service.url },
      stdio: ["pipe", "pipe", "ignore"],
    })
    let output = ""
    child.stdout.setEncoding("utf8").on("data", text => (output += text))
    for (const [at, form] of FORMS.entries()) child.stdin.write(`${callOf(at + 1, form)}\n`)
    await until(() => (output.split("clean").length > FORMS.length ? true : undefined))
    expect(output).not.toContain("POISON")
    child.stdin.write('{"jsonrpc":"2.0","id":99,"method":"tools/list"}\n')
    await until(() => (output.includes('"id":99') ? true : undefined))
    expect(output).toContain("reads")
    expect(output).not.toContain("POISON")
    // A second request under the id of a call would release the call's answer as its own.
    child.stdin.write(`${callOf(100)}\n{"jsonrpc":"2.0","id":100,"method":"ping"}\n`)
    await until(() => (output.includes('"id":100,"result"') ? true : undefined))
    expect(output).toContain('"id":100,"error":{"code":-32600')
    child.stdin.end()
    await new Promise(ended => child.once("close", ended))
  })
})

describe("over HTTP", () => {
  test.each(FORMS)("%s", async form => {
    const text = await (await post("/plain", callOf(1, form))).text()
    expect(text).toContain("clean")
    expect(text).not.toContain("POISON")
  })

  test("a result that is no object cannot be reviewed, and is withheld", async () => {
    const text = await (await post("/plain", callOf(1, "no object"))).text()
    expect(text).toContain("is no object")
    expect(text).not.toContain("POISON")
  })

  test.each(["Text/Event-Stream", "text/plain", "x/text/event-stream"])(
    "events of the type %s are no way around the review",
    async type => {
      const answer = await fetch(`${url}/plain`, { headers: { accept: "text/event-stream", "x-type": type } })
      expect(answer.status).toBe(200)
      expect(await answer.text()).not.toContain("POISON")
    },
  )

  test("a session of the name undefined is not that of agents without one", async () => {
    const openPermits = async (): Promise<number> => (await countedRecords(service.runseal)).open ?? 0
    const before = await openPermits()
    const headers = { "mcp-session-id": "undefined" }
    const hanging = post("/plain", callOf(1, "hang"), headers).catch(() => undefined)
    await until(async () => ((await openPermits()) === before + 1 ? true : undefined))
    expect(await (await post("/plain", callOf(1))).text()).toContain("clean")
    expect(await Promise.race([hanging, "hangs"])).toBe("hangs")
  })

  test("a server that names the session of another agent releases nothing by what the first one asked", async () => {
    const [first, second] = [{ "mcp-session-id": "first" }, { "mcp-session-id": "second" }]
    await (await post("/plain", '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', first)).text()
    await (await post("/plain", callOf(2), second)).text()
    const named = { ...first, "x-session": "second" }
    await (await post("/plain", '{"jsonrpc":"2.0","id":2,"method":"tools/list"}', named)).text()
    const events = await fetch(`${url}/plain`, {
      headers: { ...second, accept: "text/event-stream", "x-type": "text/event-stream" },
    })
    expect(await events.text()).not.toContain("POISON")
  })

  test("a redirect is not passed on: an agent would follow it past the gateway", async () => {
    const answer = await post("/moved", '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    expect(answer.status).toBe(502)
    expect(await answer.text()).toContain(`redirects to ${upstream}/elsewhere: give the gateway that address`)
    expect(elsewhere).toBe(0)
  })

  test("a configured header replaces the agent's, whatever its case", async () => {
    for (const name of ["authorization", "Authorization", "AUTHORIZATION"])
      await (await post("/plain", callOf(1), { [name]: "Bearer of-the-agent" })).text()
    expect(new Set(tokens)).toEqual(new Set([HEADERS.Authorization]))
  })

  test("the body of a refusal is no way around the review", async () => {
    const before = (await countedRecords(service.runseal)).failed ?? 0
    const answer = await post("/refusing", callOf(1))
    expect(answer.status).toBe(400)
    expect(await answer.text()).not.toContain("POISON")
    expect((await countedRecords(service.runseal)).failed).toBe(before + 1)
  })
})
