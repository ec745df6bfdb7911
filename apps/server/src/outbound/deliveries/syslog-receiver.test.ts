import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { expect, test } from "vitest"
import { deliveryNetworks, PUBLIC_ONLY } from "../../options/delivery-networks.ts"
import { sendStream } from "./receivers.ts"

test("a stop that came before the connection ends it too, where the receiver never does", async () => {
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.push(socket)
    socket.on("error", () => undefined)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" ? address?.port : undefined
  const networks = deliveryNetworks(["127.0.0.1"]) ?? PUBLIC_ONLY
  const message = { url: `tcp://127.0.0.1:${port}`, ca: "", stream: "1 x" }
  expect(await sendStream(networks, message, AbortSignal.abort())).toEqual({ fault: "refused", status: 0 })
  for (const socket of sockets) socket.destroy()
  server.close()
}, 20_000)
