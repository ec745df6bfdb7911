/** An address behind which one server takes another's place, as behind a load balancer: connections are cut, and new ones lead to the other. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

export type SwitchingProxy = {
  /** The URL at this address. */
  readonly url: string
  /** Cuts every connection; new ones lead to the server of this URL, or are closed at once. */
  readonly switchTo: (url: string | undefined) => void
  /** Passes no byte on, as after a cable was cut: connections stay open, also new ones, until `switchTo`. */
  readonly hold: () => void
  readonly close: () => void
}

/** @param first address of a server, `postgres:` or `http:`, with its port */
export async function openSwitchingProxy(first: string): Promise<SwitchingProxy> {
  let target: URL | undefined = new URL(first)
  let held = false
  const open = new Set<Socket>()
  const server = createServer(client => {
    open.add(client)
    client.on("error", () => client.destroy()).on("close", () => open.delete(client))
    if (target === undefined) client.destroy()
    else if (!held) lead(client, target)
  })
  const lead = (client: Socket, { port, hostname }: URL): void => {
    const upstream = connect(Number(port), hostname)
    open.add(upstream)
    upstream.on("error", () => client.destroy())
    upstream.on("close", () => {
      open.delete(upstream)
      client.destroy()
    })
    client.on("close", () => upstream.destroy())
    client.pipe(upstream).pipe(client)
  }
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the proxy has no port")
  const url = new URL(first)
  url.port = `${address.port}`
  const cut = (): void => {
    for (const socket of open) socket.destroy()
  }
  return {
    url: url.href,
    switchTo: next => {
      target = next === undefined ? undefined : new URL(next)
      held = false
      cut()
    },
    hold: () => {
      held = true
      for (const socket of open) socket.unpipe().pause()
    },
    close: () => {
      cut()
      server.close()
    },
  }
}
