/** A receiver of syslog over TCP or TLS: it takes messages by their length, and remembers them. What it does to a connection is for a test to say. */
import { execFileSync, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createServer as createTlsServer } from "node:tls"
import { parseStrictJson } from "@runseal/canonical"
import { numberAt } from "./read-answer.ts"

/** How a connection is treated. `take`: everything is read, and then it is ended; `end`: at once; `silence`: nothing is read, and nothing is ended. */
type Manner = "take" | "end" | "break" | "silence"

export type StreamReceiver = {
  readonly port: number
  /** Messages, in the order in which they came. */
  readonly taken: () => readonly string[]
  /** Positions of the events in them, which are in the format `standard`. */
  readonly positions: () => readonly number[]
  readonly connections: () => number
  /** How the next connections are treated. `break`: a part is read, and the connection (without TLS) is reset. */
  readonly treat: (manner: Manner) => void
  readonly forget: () => void
  readonly close: () => Promise<void>
}

/** A key, and a certificate for a host that signs itself, in PEM. */
export type HostCertificate = { readonly key: string; readonly cert: string }

export const opensslIsThere: boolean = spawnSync("openssl", ["version"]).status === 0

/** @param names as the extension subjectAltName lists them */
export function hostCertificate(names = "DNS:localhost,IP:127.0.0.1"): HostCertificate {
  const folder = mkdtempSync(join(tmpdir(), "runseal-host-"))
  const subject = ["-subj", "/CN=receiver", "-addext", `subjectAltName=${names}`, "-days", "2"]
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
  execFileSync("openssl", ["req", "-x509", ...kind, ...subject, "-keyout", "key.pem", "-out", "cert.pem"], {
    cwd: folder,
    stdio: "pipe",
  })
  const [key, cert] = ["key.pem", "cert.pem"].map(name => readFileSync(join(folder, name), "utf8"))
  rmSync(folder, { recursive: true })
  if (key === undefined || cert === undefined) throw new Error("openssl made no certificate")
  return { key, cert }
}

/** The messages of a stream. @throws Error for bytes that are no counted message */
function messagesOf(stream: Buffer): readonly string[] {
  const messages: string[] = []
  for (let rest = stream; rest.length > 0; ) {
    const [head = "", digits = ""] = /^([1-9]\d{0,6}) /.exec(rest.subarray(0, 8).toString("latin1")) ?? []
    const end = head.length + Number(digits)
    if (head === "" || rest.length < end) throw new Error("the stream has no counted message where one has to begin")
    messages.push(rest.subarray(head.length, end).toString("utf8"))
    rest = rest.subarray(end)
  }
  return messages
}

/** @param port 0: one that is free */
export async function startStreamReceiver(certificate?: HostCertificate, port = 0): Promise<StreamReceiver> {
  let [manner, connections]: [Manner, number] = ["take", 0]
  let taken: string[] = []
  const open = new Set<Socket>()
  const serve = (socket: Socket): void => {
    connections += 1
    open.add(socket)
    socket.on("error", () => undefined)
    socket.on("close", () => open.delete(socket))
    if (manner === "end") return void socket.end()
    if (manner === "silence") return void socket.pause()
    if (manner === "break") return void socket.once("data", () => socket.resetAndDestroy())
    const parts: Buffer[] = []
    socket.on("data", part => parts.push(part))
    socket.on("end", () => {
      taken = [...taken, ...messagesOf(Buffer.concat(parts))]
    })
  }
  const server: Server = certificate === undefined ? createServer(serve) : createTlsServer(certificate, serve)
  server.on("tlsClientError", () => undefined)
  server.listen(port, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the receiver has no port")
  return {
    port: address.port,
    taken: () => taken,
    positions: () => taken.map(message => numberAt(parseStrictJson(message.slice(message.indexOf("{"))), "position")),
    connections: () => connections,
    treat: next => {
      manner = next
    },
    forget: () => {
      taken = []
    },
    close: async () => {
      server.close()
      for (const socket of open) socket.destroy()
      await once(server, "close")
    },
  }
}
