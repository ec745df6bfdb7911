/**
 * The process that keeps the embedded service running while a gateway needs it. Each gateway holds one connection to it, its lease, which ends
 * with the gateway however that ends; the service stops some time after the last one. Several gateways share one service, because the database of a
 * folder can be opened once.
 */
import { spawn } from "node:child_process"
import { createWriteStream, mkdirSync, readFileSync, rmSync } from "node:fs"
import { createServer, type Socket } from "node:net"
import { createClient } from "@runseal/sdk"
import { filesIn, readPlace, readText, writeWhole } from "./embedded-files.ts"

/** Milliseconds without a lease after which the service stops. */
const IDLE_MS = 30_000
/** Requests a minute; the caller is the user of this machine. */
const RATE_LIMIT = "10000000"

const [, , dataDir = "", keepIdleMs = `${IDLE_MS}`] = process.argv
const files = filesIn(dataDir)
mkdirSync(files.records, { recursive: true, mode: 0o700 })

/** `bin/runseal-server.js` of the installed package. */
function serverProgram(): string {
  const manifest = new URL(import.meta.resolve("@runseal/server/package.json"))
  const { bin } = JSON.parse(readFileSync(manifest, "utf8"))
  return new URL(bin["runseal-server"], manifest).pathname
}

const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("RUNSEAL_")))
const limits = ["--rate-limit", RATE_LIMIT, "--anonymous-rate-limit", RATE_LIMIT, "--permit-rate-limit", RATE_LIMIT]
/** The port of the start before, so that addresses in receipts stay right. */
const lastPort =
  new URL(readPlace(files.place)?.url ?? readText(`${files.place}.last`) ?? "http://127.0.0.1:0").port || "0"
const service = spawn(
  process.execPath,
  [serverProgram(), "--host", "127.0.0.1", "--port", lastPort, "--data-dir", files.records, ...limits],
  { env, stdio: ["ignore", "pipe", "pipe"] },
)
const log = createWriteStream(files.log, { mode: 0o600 })
service.stderr.pipe(log, { end: false })

let started = false
let output = ""
service.stdout.setEncoding("utf8").on("data", (text: string) => {
  log.write(text)
  if (started) return
  output += text
  const url = /"url":"(http:[^"]+)".*"msg":"listening"/.exec(output)?.[1]
  if (url === undefined) return
  started = true
  serve(url).catch(() => service.kill("SIGTERM"))
})
service.once("close", code => {
  if (readPlace(files.place)?.pid === process.pid) rmSync(files.place, { force: true })
  process.exit(code ?? 1)
})
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => service.kill("SIGTERM"))

/** Locks the service on its first start, stores its trust document, and takes leases. */
async function serve(url: string): Promise<void> {
  if (readText(files.key) === undefined) {
    const open = createClient({ baseUrl: url })
    const { secret } = await open.createKey({ name: "mcp gateway", tier: "production" })
    writeWhole(files.key, `${secret}\n`)
    writeWhole(files.trust, (await open.trust()).text)
  }
  const leases = new Set<Socket>()
  const stopWhenIdle = (): NodeJS.Timeout =>
    setTimeout(() => leases.size === 0 && service.kill("SIGTERM"), Number(keepIdleMs))
  let idle = stopWhenIdle()
  const server = createServer(socket => {
    clearTimeout(idle)
    leases.add(socket)
    socket.on("error", () => undefined).resume()
    socket.once("close", () => {
      leases.delete(socket)
      clearTimeout(idle)
      if (leases.size === 0) idle = stopWhenIdle()
    })
  })
  await new Promise<void>(listening => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("no port for leases")
  writeWhole(`${files.place}.last`, url)
  writeWhole(files.place, `${JSON.stringify({ url, lease_port: address.port, pid: process.pid })}\n`)
}
