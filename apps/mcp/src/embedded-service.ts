/** The service of a user who has none: finds the one that runs on the data folder, or starts it, and holds a lease on it. */
import { spawn } from "node:child_process"
import { mkdirSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { filesIn, type Place, readPlace, readText } from "./embedded-files.ts"

/** The first start makes the database. */
const START_DEADLINE_MS = 60_000
const POLL_MS = 50
/** A keeper that ends at once lost a race, or cannot start: then the next attempt waits. */
const RETRY_MS = 2_000

export type EmbeddedService = { readonly url: string; readonly apiKey: string; readonly release: () => void }

/** @throws Error with a sentence for the user */
export async function useEmbeddedService(dataDir: string, warn: (sentence: string) => void): Promise<EmbeddedService> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const files = filesIn(dataDir)
  let lease: Socket | undefined
  let released = false
  const obtain = async (): Promise<Place> => {
    const taken = await takeLease(dataDir)
    lease = taken.socket
    lease.unref()
    lease.once("close", () => {
      if (released) return
      warn("the embedded service has ended and is started again")
      obtain().then(
        ({ url }) => url !== taken.place.url && warn(`the embedded service moved to ${url}: start this gateway again`),
        (error: unknown) => warn(error instanceof Error ? error.message : "the embedded service does not start"),
      )
    })
    return taken.place
  }
  const { url } = await obtain()
  const apiKey = readText(files.key)
  if (apiKey === undefined) throw new Error(`the embedded service has no key: ${files.key} is missing`)
  return {
    url,
    apiKey,
    release: () => {
      released = true
      lease?.destroy()
    },
  }
}

async function takeLease(dataDir: string): Promise<{ readonly socket: Socket; readonly place: Place }> {
  const files = filesIn(dataDir)
  const deadline = Date.now() + START_DEADLINE_MS
  let nextStart = 0
  while (Date.now() < deadline) {
    const place = readPlace(files.place)
    const socket = place === undefined ? undefined : await connected(place.lease_port)
    if (place !== undefined && socket !== undefined) return { socket, place }
    if (Date.now() >= nextStart) {
      startKeeper(dataDir)
      nextStart = Date.now() + (nextStart === 0 ? START_DEADLINE_MS / 3 : RETRY_MS)
    }
    await sleep(POLL_MS)
  }
  throw new Error(`the embedded service did not start: ${files.log} says why. Or name a service in RUNSEAL_URL`)
}

const connected = (port: number): Promise<Socket | undefined> =>
  new Promise(resolve => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => resolve(socket))
    socket.on("error", () => resolve(undefined))
  })

/** Detached, so that it outlives this gateway while others need it. */
function startKeeper(dataDir: string): void {
  const idle = process.env.RUNSEAL_MCP_IDLE_MS
  const keeper = fileURLToPath(new URL("./embedded-keeper.ts", import.meta.url))
  const words = [keeper, dataDir, ...(idle === undefined ? [] : [idle])]
  const child = spawn(process.execPath, words, { detached: true, stdio: "ignore" })
  child.on("error", () => undefined)
  child.unref()
}
