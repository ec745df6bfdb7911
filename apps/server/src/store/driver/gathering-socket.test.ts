import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { afterEach, expect, test } from "vitest"
import { gathering } from "./postgres-client.ts"

const opened: { readonly destroy?: () => unknown; readonly close?: () => unknown }[] = []
afterEach(() => {
  for (const one of opened.splice(0)) {
    one.destroy?.()
    one.close?.()
  }
})

async function pair() {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const socket = gathering(connect(typeof address === "object" ? (address?.port ?? 0) : 0, "127.0.0.1"))
  const accepted = once(server, "connection")
  await once(socket, "connect")
  const [far]: Socket[] = await accepted
  if (far === undefined) throw new Error("a connection is accepted")
  opened.push(socket, far, server)
  return { socket, far }
}

test("what is written by promises that are settled together arrives in order, in one piece", async () => {
  const { socket, far } = await pair()
  const pieces: string[] = []
  far.setEncoding("utf8").on("data", piece => pieces.push(String(piece)))
  const parts = Array.from({ length: 20 }, (_, i) => `statement ${i};`)
  await Promise.all(parts.map(async part => Promise.resolve().then(() => socket.write(part))))
  socket.write("end", "utf8", () => socket.end())
  await once(far, "end")
  expect(pieces.join("")).toBe(`${parts.join("")}end`)
  expect(pieces[0]).toContain(parts.join(""))
})

test("a write says when it is done, and when it cannot be", async () => {
  const { socket } = await pair()
  const done = (text: string) =>
    new Promise<unknown>(resolve => socket.write(Buffer.from(text), error => resolve(error ?? undefined)))
  expect(await done("a")).toBeUndefined()
  socket.destroy()
  expect(await done("b")).toBeInstanceOf(Error)
})
