/**
 * A TCP proxy between a server and its PostgreSQL with faults: it cuts a connection at a COMMIT, is down, keeps the end of a statement
 * back, or delays the answer of a COMMIT, as a slow disk would. The disk itself is not slowed: other writes of the database are as fast
 * as before.
 */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

export type LinkMode =
  | { readonly kind: "whole" }
  /** Cuts the connection at its next COMMIT, before the database gets it or after it has acted on it. */
  | { readonly kind: "cut"; readonly when: "before" | "after" }
  /** Every connection is cut, and none is made. */
  | { readonly kind: "down" }
  /** Holds the answer to a COMMIT until a promise resolves, or the time is over. */
  | { readonly kind: "held"; readonly until: Promise<void>; readonly atMostMs: number }
  /** Delays the answer to each COMMIT by so many milliseconds. */
  | { readonly kind: "slow"; readonly delayMs: () => number }
  /** Keeps the last byte of the next long statement, such as one of a batch, until a promise resolves; then the link is whole. */
  | { readonly kind: "stalled"; readonly reached: () => void; readonly until: Promise<void> }

export type DatabaseLink = {
  /** The database's address through the link. */
  readonly url: string
  readonly set: (mode: LinkMode) => void
  /** How many commits were cut so far. */
  readonly cuts: () => number
  readonly close: () => void
}

/** The end of the message with which postgres.js commits: a simple query, PostgreSQL documentation "Message Formats". */
const COMMIT = "commit\0"
/** How statements end that wait for their answer: the message Sync. */
const SYNC = Buffer.from("S\0\0\0\x04", "latin1")
/** Bytes of a long statement: of those that one request sends, only the rows of its batch have so many. */
const LONG_BYTES = 16_384
/** Long enough for the database to act on a COMMIT before its connection is cut. */
const ACTED_MS = 100

/** What the answer to a COMMIT waits for; undefined for no delay. */
function delayOf(mode: LinkMode): Promise<void> | undefined {
  if (mode.kind === "slow") return sleep(mode.delayMs())
  if (mode.kind === "held") return Promise.race([mode.until, sleep(mode.atMostMs, undefined, { ref: false })])
  return undefined
}

export async function openLink(databaseUrl: string): Promise<DatabaseLink> {
  let mode: LinkMode = { kind: "whole" }
  let cuts = 0
  const target = new URL(databaseUrl)
  const open = new Set<Socket>()
  const proxy = createServer(client => {
    const server = connect(Number(target.port), target.hostname)
    const end = (): void => {
      for (const socket of [client, server]) {
        socket.destroy()
        open.delete(socket)
      }
    }
    for (const socket of [client, server]) open.add(socket.on("error", end).on("close", end))
    if (mode.kind === "down") return end()
    // The database's data is passed on in order, after what is held back.
    let held = Promise.resolve()
    let cut = false
    server.on("data", chunk => {
      held = held.then(() => void (cut || client.destroyed || client.write(chunk)))
    })
    client.on("data", chunk => {
      if (mode.kind === "stalled" && chunk.length > LONG_BYTES && chunk.subarray(-SYNC.length).equals(SYNC)) {
        server.write(chunk.subarray(0, -1))
        client.pause()
        void mode.until.then(() => {
          server.write(chunk.subarray(-1))
          client.resume()
        })
        mode.reached()
        mode = { kind: "whole" }
        return
      }
      const commits = chunk.includes(COMMIT)
      const cutting = commits && mode.kind === "cut"
      const delay = commits ? delayOf(mode) : undefined
      if (delay !== undefined) held = held.then(() => delay)
      if (cutting) {
        cut = true
        cuts++
        setTimeout(end, ACTED_MS)
      }
      if (!cutting || (mode.kind === "cut" && mode.when === "after")) server.write(chunk)
    })
  })
  proxy.listen(0, "127.0.0.1")
  await once(proxy, "listening")
  const address = proxy.address()
  if (address === null || typeof address === "string") throw new Error("the link has no port")
  const cutAll = (): void => {
    for (const socket of open) socket.destroy()
  }
  return {
    url: Object.assign(new URL(databaseUrl), { port: `${address.port}` }).href,
    set: next => {
      mode = next
      if (next.kind === "down") cutAll()
    },
    cuts: () => cuts,
    close: () => {
      proxy.close()
      cutAll()
    },
  }
}
