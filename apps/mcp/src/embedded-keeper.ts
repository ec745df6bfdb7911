/**
 * The process that keeps the embedded service running while a gateway needs it. Each gateway holds one connection to it, its lease, which ends
 * with the gateway however that ends; the service stops some time after the last one. Several gateways share one service, because the database of a
 * folder can be opened once.
 */
import { spawn } from "node:child_process"
import { createWriteStream, mkdirSync, readFileSync } from "node:fs"
import { createServer } from "node:net"
import { fileURLToPath } from "node:url"
import { createClient } from "@runseal/sdk"
import { filesIn, readPlace } from "./embedded-service.ts"
import { withoutOurs } from "./stdio-server.ts"
import { readText, writeWhole } from "./whole-files.ts"

/** Milliseconds without a lease after which the service stops. */
const IDLE_MS = 30_000
/** Requests a minute; the caller is the user of this machine. */
const RATE_LIMIT = "10000000"

const [, , dataDir = ""] = process.argv
const files = filesIn(dataDir)
mkdirSync(files.records, { recursive: true, mode: 0o700 })

/**
 * The file that starts the installed service. It refuses a Node on which a service for others is not tested; that of one user on this machine
 * runs there too, as it was built. Decision 0300.
 */
function serverProgram(): string {
  const manifest = new URL(import.meta.resolve("@runseal/server/package.json"))
  const { bin, engines } = JSON.parse(readFileSync(manifest, "utf8"))
  const [needed = 0, found = 0] = [engines.node, process.versions.node].map(version => Number(/\d+/.exec(version)?.[0]))
  return fileURLToPath(new URL(found < needed ? "dist/bundle/main.js" : bin["runseal-server"], manifest))
}

const limits = ["--rate-limit", "--anonymous-rate-limit", "--permit-rate-limit"].flatMap(name => [name, RATE_LIMIT])
/** The port of the start before, so that addresses in receipts stay right. */
const port = new URL(readPlace(dataDir)?.url ?? "http://127.0.0.1:0").port || "0"
const words = ["--host", "127.0.0.1", "--port", port, "--data-dir", files.records, ...limits]
const service = spawn(process.execPath, [serverProgram(), ...words], {
  env: withoutOurs(process.env),
  stdio: ["ignore", "pipe", "pipe"],
})
const log = createWriteStream(files.log, { mode: 0o600 })
service.stderr.pipe(log, { end: false })
service.once("close", code => process.exit(code ?? 1))
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => service.kill("SIGTERM"))

let output = ""
let url: string | undefined
service.stdout.setEncoding("utf8").on("data", (text: string) => {
  log.write(text)
  if (url !== undefined) return
  output += text
  url = /"url":"(http:[^"]+)".*"msg":"listening"/.exec(output)?.[1]
  if (url !== undefined) serve(url).catch(() => service.kill("SIGTERM"))
})

/** Locks the service on its first start, stores its trust document, and takes leases. */
async function serve(url: string): Promise<void> {
  if (readText(files.key) === undefined) {
    const open = createClient({ baseUrl: url })
    writeWhole(files.trust, (await open.trust()).text)
    // The gateways of a folder share it, and each of them may only observe.
    const { secret } = await open.createKey({ name: "mcp gateway", tier: "production", observe: true })
    writeWhole(files.key, `${secret}\n`)
  }
  let leases = 0
  let idle: NodeJS.Timeout | undefined
  const stopWhenIdle = (): void => {
    clearTimeout(idle)
    idle = setTimeout(() => leases === 0 && service.kill("SIGTERM"), IDLE_MS)
  }
  const server = createServer(socket => {
    leases++
    socket.on("error", () => undefined).resume()
    socket.write(`${url}\n`)
    socket.once("close", () => {
      leases--
      stopWhenIdle()
    })
  })
  stopWhenIdle()
  await new Promise<void>(listening => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("no port for leases")
  writeWhole(files.place, `${JSON.stringify({ url, lease_port: address.port })}\n`)
}
