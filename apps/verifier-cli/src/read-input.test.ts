import { createServer, type RequestListener, type Server } from "node:http"
import { gzipSync } from "node:zlib"
import { afterEach, expect, test } from "vitest"
import { InputError } from "./exit-answer.ts"
import { parseAddress, readInput } from "./read-input.ts"

const LIMITS = { maxBytes: 1000, deadlineMs: 300 }
let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
  server = undefined
})

async function serve(listener: RequestListener): Promise<string> {
  const own = createServer(listener)
  server = own
  await new Promise<void>(ready => own.listen(0, "127.0.0.1", ready))
  const address = own.address()
  return typeof address === "object" ? `http://127.0.0.1:${address?.port}/` : ""
}

test("an answer of exactly the allowed size is read whole", async () => {
  const address = await serve((_, response) => response.end("x".repeat(LIMITS.maxBytes)))
  expect((await readInput(address, LIMITS)).length).toBe(LIMITS.maxBytes)
})

test("an answer one byte larger is refused", async () => {
  const address = await serve((_, response) => response.end("x".repeat(LIMITS.maxBytes + 1)))
  await expect(readInput(address, LIMITS)).rejects.toThrow("The input is larger than 1000 bytes.")
})

test("a small answer that unpacks to a large one is refused", async () => {
  const bomb = gzipSync("x".repeat(1_000_000))
  const address = await serve((_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(bomb))
  await expect(readInput(address, LIMITS)).rejects.toThrow("The input is larger than 1000 bytes.")
})

test("a server that says nothing is given up at the deadline", async () => {
  const address = await serve(() => {})
  await expect(readInput(address, LIMITS)).rejects.toThrow("did not send the document within 0.3 s.")
})

test("a server that begins and does not end is given up at the same deadline", async () => {
  const address = await serve((_, response) => response.writeHead(200).write("{"))
  await expect(readInput(address, LIMITS)).rejects.toThrow("did not send the document within 0.3 s.")
})

test.each([500, 404, 204, 301])("status %d brings no document", async status => {
  const address = await serve((_, response) => response.writeHead(status).end())
  await expect(readInput(address, LIMITS)).rejects.toBeInstanceOf(InputError)
})

test("a redirect to another port is a redirect to another host", async () => {
  const address = await serve((_, response) => response.writeHead(307, { location: "http://127.0.0.1:1/" }).end())
  await expect(readInput(address, LIMITS)).rejects.toThrow("redirects to http://127.0.0.1:1, another host")
})

test.each([
  "https://example.com/x",
  "http://localhost:8080/x",
  "http://127.0.0.1/x",
  "http://127.9.9.9/x",
  "http://[::1]/x",
])("%s may be fetched", address => {
  expect(parseAddress(address).href).toBe(address)
})

test.each([
  "http://example.com/x",
  "http://localhost.example.com/x",
  "http://127.0.0.1.example.com/x",
  "http://10.0.0.1/x",
  "ftp://localhost/x",
  "file:///etc/passwd",
  "https://user@example.com/x",
])("%s may not be fetched", address => {
  expect(() => parseAddress(address)).toThrow(InputError)
})
