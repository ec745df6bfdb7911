/** The service of a user who has none: finds the one that runs on the data folder, or starts it, and holds a lease on it. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import * as v from "valibot"
import { readText } from "./whole-files.ts"

/** The first start makes the database. */
const START_DEADLINE_MS = 120_000
/** A keeper that ends at once lost a race to that of another gateway, or cannot start. */
const RETRY_MS = 2_000
const POLL_MS = 50
const GREETING_MS = 2_000

export const filesIn = (dataDir: string) => ({
  /** Database and keys of the service. */
  records: join(dataDir, "records"),
  place: join(dataDir, "service.json"),
  /** The API key of the gateways. */
  key: join(dataDir, "service-key"),
  /** The service's public keys, as they were at its first start. */
  trust: join(dataDir, "trust.json"),
  log: join(dataDir, "service.log"),
})

/** Where the service runs or ran; `lease_port` takes the connections of gateways, as long as which it runs. */
const placeSchema = v.pipe(v.string(), v.parseJson(), v.object({ url: v.string(), lease_port: v.number() }))
export function readPlace(dataDir: string): v.InferOutput<typeof placeSchema> | undefined {
  const parsed = v.safeParse(placeSchema, readText(filesIn(dataDir).place))
  return parsed.success ? parsed.output : undefined
}

/** A service of the user, or the embedded one. */
export type Service = {
  /** Rejects with a sentence for the user when the service does not start. */
  readonly ready: Promise<{ readonly url: string; readonly apiKey: string | undefined }>
  /** This gateway needs it no more. */
  readonly release: () => void
}

/** Returns at once, also while the service starts. @throws Error when the folder cannot be made */
export function useEmbeddedService(dataDir: string, warn: (sentence: string) => void): Service {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const stop = new AbortController()
  const obtain = async (): Promise<string> => {
    const { url, socket } = await takeLease(dataDir, stop.signal)
    const lease = socket.unref()
    stop.signal.addEventListener("abort", () => lease.destroy(), { once: true })
    lease.once("close", () => {
      if (stop.signal.aborted) return
      warn("the embedded service has ended and is started again")
      obtain().then(
        place => place !== url && warn(`the embedded service moved to ${place}: start this gateway again`),
        (error: unknown) => warn(error instanceof Error ? error.message : "the embedded service does not start"),
      )
    })
    return url
  }
  const start = async () => {
    const url = await obtain()
    const { key } = filesIn(dataDir)
    const apiKey = readText(key)
    if (apiKey === undefined) throw new Error(`the embedded service has no key: ${key} is missing`)
    return { url, apiKey }
  }
  return { ready: start(), release: () => stop.abort() }
}

type Lease = { readonly url: string; readonly socket: Socket }

async function takeLease(dataDir: string, stop: AbortSignal): Promise<Lease> {
  const deadline = Date.now() + START_DEADLINE_MS
  let nextStart = 0
  const retry = (): void => {
    nextStart = Date.now() + RETRY_MS
  }
  while (Date.now() < deadline && !stop.aborted) {
    const lease = await leaseOf(dataDir)
    if (lease !== undefined) return lease
    if (Date.now() >= nextStart) {
      nextStart = deadline
      startKeeper(dataDir).once("exit", retry).once("error", retry)
    }
    await sleep(POLL_MS)
  }
  throw new Error(
    `the embedded service did not start: ${filesIn(dataDir).log} says why. Or name a service in RUNSEAL_URL`,
  )
}

/** The keeper greets with the service's address: after a crash, another program may have its port. */
function leaseOf(dataDir: string): Promise<Lease | undefined> {
  const place = readPlace(dataDir)
  if (place === undefined) return Promise.resolve(undefined)
  const { url, lease_port } = place
  return new Promise(resolve => {
    const socket = connect(lease_port, "127.0.0.1")
    const give = (lease?: Lease): void => {
      socket.setTimeout(0)
      if (lease === undefined) socket.destroy()
      resolve(lease)
    }
    socket.setTimeout(GREETING_MS, () => give())
    socket.on("error", () => give())
    socket.once("end", () => give())
    socket.once("data", greeting => give(`${greeting}` === `${url}\n` ? { url, socket } : undefined))
  })
}

/** Detached, so that it outlives this gateway while others need it. */
function startKeeper(dataDir: string): ChildProcess {
  const keeper = fileURLToPath(new URL("./embedded-keeper.ts", import.meta.url))
  const child = spawn(process.execPath, [keeper, dataDir], { detached: true, stdio: "ignore" })
  child.unref()
  return child
}
