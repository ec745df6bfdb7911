/** A service of its own, gateways as processes before it, and the official client behind them. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { createClient, type Client as Runseal } from "@runseal/sdk"

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const GATEWAY = pathOf("../bin/runseal-mcp.js")
const SERVICE = pathOf("../../server/bin/runseal-server.js")
export const SERVERS = pathOf("../../../node_modules/@modelcontextprotocol")
export const FILESYSTEM = join(SERVERS, "server-filesystem/dist/index.js")
export const EVERYTHING = join(SERVERS, "server-everything/dist/index.js")
/** A Python with `mcp` and `fastmcp`; undefined where RUNSEAL_MCP_PYTHON names none. */
export const PYTHON = process.env.RUNSEAL_MCP_PYTHON

export type Folder = {
  readonly path: string
  readonly file: (name: string, text: string) => string
  readonly remove: () => void
}

export function newFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), "runseal-mcp-"))
  return {
    path,
    file: (name, text) => {
      writeFileSync(join(path, name), text)
      return join(path, name)
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

/** A process whose output is collected. */
export type Running = { readonly child: ChildProcess; readonly output: () => string; readonly ended: Promise<number> }

export function run(words: readonly string[], env: NodeJS.ProcessEnv = process.env): Running {
  const child = spawn(words[0] ?? "", words.slice(1), { env, stdio: ["ignore", "pipe", "pipe"] })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", text => (output += text))
  const ended = new Promise<number>(resolve => child.once("close", code => resolve(code ?? -1)))
  return { child, output: () => output, ended }
}

export async function until<T>(found: () => T | undefined | Promise<T | undefined>, ms = 60_000): Promise<T> {
  const deadline = Date.now() + ms
  for (;;) {
    const value = await found()
    if (value !== undefined && value !== false) return value
    if (Date.now() > deadline) throw new Error("not in time")
    await new Promise(later => setTimeout(later, 20))
  }
}

export type Service = {
  readonly url: string
  readonly runseal: Runseal
  readonly process: Running
  readonly stop: () => Promise<unknown>
}

const LIMITS = ["--rate-limit", "1000000", "--anonymous-rate-limit", "1000000", "--permit-rate-limit", "1000000"]
export async function startService(dataDir: string, ...options: readonly string[]): Promise<Service> {
  const service = run([
    process.execPath,
    SERVICE,
    "--host",
    "127.0.0.1",
    "--port",
    "0",
    "--data-dir",
    dataDir,
    ...LIMITS,
    ...options,
  ])
  const url = await until(() => /"url":"(http:[^"]+)".*"msg":"listening"/.exec(service.output())?.[1], 120_000)
  const stop = (): Promise<unknown> => {
    service.child.kill("SIGTERM")
    return service.ended
  }
  return { url, runseal: createClient({ baseUrl: url }), process: service, stop }
}

export type Agent = {
  readonly client: Client
  readonly transport: StdioClientTransport
  readonly errors: () => string
  readonly close: () => Promise<void>
}

/** For a gateway whose service is there: on a slow machine a decision takes longer than a call waits for it by default. */
export const WAITING = { RUNSEAL_TIMEOUT: "60" } as const

/** The official client with a gateway as its server. */
export async function startAgent(words: readonly string[], env: Readonly<Record<string, string>>): Promise<Agent> {
  const plain = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [GATEWAY, ...words],
    env: { ...plain, ...env },
    stderr: "pipe",
  })
  let errors = ""
  transport.stderr?.on("data", chunk => (errors += chunk))
  const client = new Client({ name: "test agent", version: "1.0.0" })
  await client.connect(transport, { timeout: 120_000 })
  return { client, transport, errors: () => errors, close: () => client.close() }
}

/** Calls of tools at a service, and permits, counted by how they ended. The review of what a server says of itself is no call. */
export async function countedRecords(runseal: Runseal): Promise<Record<string, number>> {
  const counted: Record<string, number> = {}
  const count = (name: string): void => {
    counted[name] = (counted[name] ?? 0) + 1
  }
  for await (const { outcome_kind, closing_outcome, route_id } of runseal.runs())
    if (!/^mcp\/[^/]+$/.test(route_id)) count(closing_outcome === "failed" ? "failed" : outcome_kind)
  for await (const { state } of runseal.permits.list()) if (state === "open" || state === "ended") count(state)
  return counted
}

export const gatewayWords = (...words: readonly string[]): readonly string[] => [process.execPath, GATEWAY, ...words]

/** Processes of the embedded service of a folder. */
export const processesOf = (dataDir: string): readonly number[] =>
  execFileSync("ps", ["-eo", "pid=,args="])
    .toString()
    .split("\n")
    .filter(line => line.includes(dataDir) && /embedded-keeper|runseal-server/.test(line))
    .map(line => Number.parseInt(line, 10))
