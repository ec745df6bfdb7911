/** The gateway process: options, the service, the server behind it, signals, the summary. */
import { realpathSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { createClient, createObserved, type Observed } from "@runseal/sdk"
import { createCounts } from "./counts.ts"
import { filesIn, type Service, useEmbeddedService } from "./embedded-service.ts"
import { HELP, type Options, readOptions } from "./gateway-options.ts"
import { type Route, runHttpGateway } from "./http-gateway.ts"
import { connectHttpServer } from "./http-server.ts"
import { otherUser } from "./other-user.ts"
import { printActs } from "./print-acts.ts"
import type { Sealing } from "./sealing.ts"
import type { Server } from "./servers.ts"
import { type Gateway, runStdioGateway } from "./stdio-gateway.ts"
import { startStdioServer } from "./stdio-server.ts"
import { createServerFacts } from "./tool-definitions.ts"
import { openToolPins } from "./tool-pins.ts"
import type { Upstream } from "./upstream.ts"

/** Standard output belongs to the protocol. */
const say = (sentence: string): void => void process.stderr.write(`runseal-mcp: ${sentence}\n`)

function findService(dataDir: string): Service {
  const { RUNSEAL_URL: url, RUNSEAL_API_KEY: apiKey } = process.env
  if (url !== undefined && url !== "")
    return { ready: Promise.resolve({ url: url.replace(/\/+$/, ""), apiKey }), release: () => undefined }
  const service = useEmbeddedService(dataDir, say)
  const { key, trust, records } = filesIn(dataDir)
  const introduce = ({ url: place }: { readonly url: string }): void => {
    say(`records of tool calls are in ${records}, served at ${place}. To verify one:`)
    say(`  curl -s ${place}/runs/1/artifacts -H "X-Service-Key: $(cat '${key}')" -o bundle.json`)
    say(`and open ${place}/verify with the file; the keys are in ${trust}`)
  }
  service.ready.then(introduce, () => undefined)
  return service
}

function saySettings({ mode, fail, pin, content }: Options): void {
  const without = fail === "closed" ? "not made" : "MADE WITHOUT A RECORD"
  say(
    mode === "observe"
      ? "observing: every call is made, whatever the decision"
      : `enforcing: a call without a permit is not made; without an answer of the service it is ${without}`,
  )
  if (pin === "off") say("definitions of tools are not pinned")
  if (!content) say("the service gets the hash of a result alone: no result is searched or reviewed")
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), process.env)
  if (options === undefined) return void process.stdout.write(HELP)
  if (options.printed !== undefined) return printConfig(options.servers, options.printed)
  const [only] = options.servers
  if (options.printsActs && only !== undefined) return await printActs(only, userOf(options), say)
  const service = findService(options.dataDir)
  saySettings(options)
  const counts = createCounts()
  let address = ""
  const client = service.ready.then(({ url, apiKey }) => {
    address = url
    return createClient({ baseUrl: url, apiKey })
  })
  client.catch((error: unknown) => say(error instanceof Error ? error.message : "a bug"))
  // A user who reads no more sentences ends no call.
  process.stderr.on("error", () => undefined)
  const observed = createObserved()
  const gateway = await start(options, { ...options, client, address: () => address, counts, observed, warn: say })
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, gateway.stop)
  process.exitCode = await gateway.done
  await sealRest(observed)
  say(counts.summary())
  service.release()
  // An agent's pipe that stays open keeps the process alive otherwise.
  process.stdin.destroy()
}

/** Milliseconds that the end of the gateway waits for calls that were only observed. */
const REST_MS = 5_000

async function sealRest(observed: Observed): Promise<void> {
  const over = new AbortController()
  const late = sleep(REST_MS, undefined, { signal: over.signal }).catch(() => undefined)
  await Promise.race([observed.flush(), late])
  over.abort()
}

const userOf = ({ runAs, dataDir }: Pick<Options, "runAs" | "dataDir">) =>
  runAs === undefined ? undefined : otherUser(runAs, dataDir)

async function start(
  { servers, pin, listen, dataDir, runAs, endUserFrom }: Options,
  sealing: Sealing,
): Promise<Gateway> {
  const partsOf = ({ name }: Server) => {
    const pins = openToolPins(join(dataDir, "pins"), name)
    return { sealing, facts: createServerFacts(name, pins, pin, sealing) }
  }
  const [first] = servers
  if (first === undefined) throw new Error("there is no server")
  if (listen === undefined) {
    const { how } = first
    const user = userOf({ runAs, dataDir })
    if ("command" in how && user === undefined)
      say(`the server runs as the user of the gateway: it can read what is in ${dataDir}, and change its pins there`)
    const connect = (receive: (text: string) => void): Upstream =>
      "command" in how ? startStdioServer(how, receive, user) : connectHttpServer(how, receive)
    return runStdioGateway({ input: process.stdin, output: process.stdout }, connect, partsOf(first))
  }
  const routes = servers.flatMap((server): (readonly [string, Route])[] => {
    if ("command" in server.how) return []
    const route = { ...partsOf(server), server: server.how, namesEndUser: endUserFrom !== undefined }
    // One server alone is also at the root, and where clients look for a server.
    const paths = servers.length === 1 ? ["/", "/mcp", `/${server.name}`] : [`/${server.name}`]
    return paths.map(path => [path, route])
  })
  const gateway = await runHttpGateway(listen, new Map(routes))
  for (const { name } of servers) say(`listening on ${gateway.url}${servers.length === 1 ? "" : `/${name}`}`)
  return gateway
}

/** The servers of a file, each behind the gateway; their own settings and secrets stay in that file. */
function printConfig(servers: readonly Server[], config: string): void {
  // What runs now, by its path: a name would be looked up in a registry, where it may be a stranger's.
  const [, program = ""] = process.argv
  const command = process.execPath
  const entries = servers.map(({ name }) => [
    name,
    { command, args: [realpathSync(program), "--config", config, "--server", name] },
  ])
  process.stdout.write(`${JSON.stringify({ mcpServers: Object.fromEntries(entries) }, null, 2)}\n`)
}

await main()
