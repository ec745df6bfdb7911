/** A TCP proxy that cuts a connection when its client sends a given text, for tests of lost connections. */
import { once } from "node:events"
import { connect as connectTo, createServer } from "node:net"

export type CuttingProxy = {
  readonly port: number
  /**
   * Cuts both sides when a client's message has this text; "before" keeps the message from the server.
   * @param then called when the first connection was cut
   */
  readonly cutAt: (text: string, when: "before" | "after", then?: () => void) => void
  /** Cuts no more connections. */
  readonly letPass: () => void
  readonly close: () => void
}

/** Long enough for the server to act on a message before its connection is cut. */
const DELAY_MS = 200

export async function startCuttingProxy(targetPort: number): Promise<CuttingProxy> {
  let cut:
    | { readonly text: string; readonly when: "before" | "after"; readonly then?: (() => void) | undefined }
    | undefined
  const proxy = createServer(client => {
    const server = connectTo(targetPort, "127.0.0.1")
    const end = (): void => {
      client.destroy()
      server.destroy()
    }
    client.on("error", end).on("close", end)
    server.on("error", end).on("close", end)
    server.on("data", answer => client.write(answer))
    client.on("data", message => {
      const cutting = cut !== undefined && message.includes(cut.text)
      if (!cutting || cut?.when === "after") server.write(message)
      if (!cutting) return
      server.removeAllListeners("data")
      const { then } = cut ?? {}
      setTimeout(() => {
        then?.()
        end()
      }, DELAY_MS)
    })
  })
  proxy.listen(0, "127.0.0.1")
  await once(proxy, "listening")
  const address = proxy.address()
  if (address === null || typeof address === "string") throw new Error("the proxy has no port")
  return {
    port: address.port,
    cutAt: (text, when, then) => {
      cut = { text, when, then }
    },
    letPass: () => {
      cut = undefined
    },
    close: () => void proxy.close(),
  }
}
