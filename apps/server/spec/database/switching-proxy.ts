/** An address of a database behind which one server takes another's place: connections are cut, and new ones lead to the other. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

export type SwitchingProxy = {
  /** The URL at this address. */
  readonly url: string
  /** Cuts every connection; new ones lead to the server of this URL. */
  readonly switchTo: (url: string) => void
  readonly close: () => void
}

export async function openSwitchingProxy(first: string): Promise<SwitchingProxy> {
  let target = new URL(first)
  const open = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket)
      socket.on("error", () => other.destroy())
      socket.on("close", () => {
        open.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the proxy has no port")
  const url = new URL(first)
  url.port = `${address.port}`
  return {
    url: url.href,
    switchTo: next => {
      target = new URL(next)
      for (const socket of open) socket.destroy()
    },
    close: () => {
      for (const socket of open) socket.destroy()
      server.close()
    },
  }
}
