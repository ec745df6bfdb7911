/** Witnesses of a log: the reference one as a process of its own, and others that do not do what a witness does. */
import { type ChildProcess, spawn } from "node:child_process"
import { createPublicKey, generateKeyPairSync, sign } from "node:crypto"
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { cosignatureLine } from "@runseal/log/entries/log-signing"
import { parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { formatVkey, noteKey, parseNote } from "@runseal/log/notes/signed-note"
import type { Child } from "./child.ts"
import { textAt } from "./read-answer.ts"
import { until } from "./until.ts"

const MAIN = fileURLToPath(new URL("../../../../tools/src/witness/main.ts", import.meta.url))

export type Witness = {
  readonly vkey: string
  /** Its `--witness` of a server. */
  readonly option: string
}
export type ReferenceWitness = Witness & {
  /** Kills it and starts it again on the same files, for another log if one is named. */
  readonly crash: (log?: string) => Promise<void>
}

const over: (() => Promise<unknown> | unknown)[] = []

/** Ends all witnesses that a suite has started, after its last test. */
export async function endWitnesses(): Promise<void> {
  for (const end of over.splice(0)) await end()
}

/** The log of a server as a witness is configured with it. */
export async function logOf(server: Child): Promise<string> {
  const { body } = await server.get("/.well-known/runseal-trust.json")
  return textAt(body, "checkpoint_keys", "0")
}

/** The reference witness, which keeps key and memory in the folder. */
export async function startWitness(folder: string, name: string, log: string): Promise<ReferenceWitness> {
  const files = ["--key", join(folder, `${name}.key`), "--state", join(folder, `${name}.state`)]
  const start = (listen: string, known: string): Promise<Started> =>
    launch(["--name", name, "--listen", listen, "--log", known, ...files])
  let running = await start("127.0.0.1:0", log)
  const { vkey, url } = running
  const kill = async (): Promise<void> => {
    const ended = once(running.process, "exit")
    running.process.kill("SIGKILL")
    await ended
  }
  over.push(kill)
  return {
    vkey,
    option: `${vkey}=${url}`,
    crash: async next => {
      await kill()
      running = await start(new URL(url).host, next ?? log)
    },
  }
}

type Started = { readonly process: ChildProcess; readonly vkey: string; readonly url: string }

async function launch(options: readonly string[]): Promise<Started> {
  const child = spawn(process.execPath, [MAIN, ...options], { stdio: ["ignore", "pipe", "pipe"] })
  process.once("exit", () => child.kill("SIGKILL"))
  let output = ""
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text))
  const [, vkey, url] = await until("the witness listens", () => /^key (.*)\nlistening (.*)\n/.exec(output) ?? false)
  if (vkey === undefined || url === undefined) throw new Error(output)
  return { process: child, vkey, url }
}

type Asked = {
  readonly body: string
  readonly requests: number
  readonly cosign: (text: string, time?: number) => string
}

/** Somebody with a witness's key who answers otherwise; `answer` may also not. */
export async function startImpostor(
  name: string,
  answer: (asked: Asked, response: ServerResponse) => void,
  algorithm: "cosignature/v1" | "ml-dsa-44" = "cosignature/v1",
): Promise<Witness & { readonly requests: () => number; readonly url: string }> {
  const { privateKey } = algorithm === "ml-dsa-44" ? generateKeyPairSync("ml-dsa-44") : generateKeyPairSync("ed25519")
  const spki = createPublicKey(privateKey).export({ type: "spki", format: "der" })
  const key = noteKey(name, algorithm, new Uint8Array(spki.subarray(algorithm === "ml-dsa-44" ? -1312 : -32)))
  const now = Math.floor(Date.now() / 1000)
  const cosign: Asked["cosign"] = (text, time = now) =>
    cosignatureLine(key, time, text, message => sign(null, message, privateKey))
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    let body = ""
    request.setEncoding("utf8").on("data", (text: string) => (body += text))
    request.on("end", () => answer({ body, requests, cosign }, response))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  over.push(() => server.close().closeAllConnections())
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`
  const vkey = formatVkey(key)
  return { vkey, option: `${vkey}=${url}`, requests: () => requests, url }
}

/** Entries of the log, and of what was witnessed of it; 0 for nothing. */
export async function sizesOf(server: Child): Promise<{ readonly log: number; readonly witnessed: number }> {
  const [newest, witnessed] = [await server.get("/log/checkpoint"), await server.get("/log/witnessed-checkpoint")]
  return { log: sizeOf(newest.text), witnessed: witnessed.status === 404 ? 0 : sizeOf(witnessed.text) }
}

function sizeOf(note: string): number {
  const size = parseCheckpoint(parseNote(note)?.text ?? "")?.size
  if (size === undefined) throw new Error(`no checkpoint: ${note}`)
  return size
}

/** Waits until all of the log is witnessed; the checkpoint's signature names, the log's own first. */
export async function untilWitnessed(server: Child, ...by: readonly string[]): Promise<void> {
  await until("all of the log is witnessed", async () => {
    const { log, witnessed } = await sizesOf(server)
    const { text } = await server.get("/log/witnessed-checkpoint")
    return log === witnessed && by.every(name => text.includes(`\n— ${name} `))
  })
}

type LogLine = { readonly msg: string; readonly fault?: string; readonly status?: number }

/** What the server's own log says of a witness, newest last. */
export const logLinesOn = (server: Child, witness: string): readonly LogLine[] =>
  server
    .stdout()
    .split("\n")
    .filter(line => line.includes(`"witness":"${witness}"`))
    .map(line => JSON.parse(line) as LogLine)
