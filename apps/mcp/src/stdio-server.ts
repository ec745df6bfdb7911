/** A server as a child process, one message a line. Its environment has no variable of Runseal, so it never sees the API key. */
import { spawn } from "node:child_process"
import type { Readable } from "node:stream"
import { MESSAGE_MAX_BYTES } from "./json-rpc.ts"
import type { StdioServer } from "./servers.ts"
import { type Upstream, UpstreamError } from "./upstream.ts"

/** Milliseconds that a server has to end after its input ended, and then after SIGTERM. */
const END_MS = 1_500

/** Calls `line` for each line, without a copy of what came before. Lines end with LF alone. @throws Error for a line beyond the bound */
export function readLines(stream: Readable, line: (text: string) => void): void {
  let parts: Buffer[] = []
  let size = 0
  stream.on("data", (chunk: Buffer) => {
    let rest = chunk
    for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
      const text = Buffer.concat([...parts, rest.subarray(0, at)])
        .toString("utf8")
        .trim()
      parts = []
      size = 0
      rest = rest.subarray(at + 1)
      if (text !== "") line(text)
    }
    size += rest.length
    if (size > MESSAGE_MAX_BYTES) stream.destroy(new Error("a message is too large"))
    else if (rest.length > 0) parts.push(rest)
  })
}

const withoutOurs = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("RUNSEAL_")))

export function startStdioServer(
  { command, args = [], env, cwd }: StdioServer,
  receive: (text: string) => void,
): Upstream {
  const child = spawn(command, args, {
    env: { ...withoutOurs(process.env), ...env },
    stdio: ["pipe", "pipe", "inherit"],
    ...(cwd === undefined ? {} : { cwd }),
    shell: process.platform === "win32",
  })
  const gone = new Promise<number>(resolve => {
    child.once("error", () => resolve(127))
    child.once("close", code => resolve(code ?? 1))
  })
  readLines(child.stdout, receive)
  child.stdout.on("error", () => child.kill("SIGTERM"))
  child.stdin.on("error", () => undefined)
  let stopping: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    child.stdin.end()
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const timer = setTimeout(() => child.kill(signal), END_MS)
      const ended = await Promise.race([gone.then(() => true), new Promise(later => setTimeout(later, END_MS + 100))])
      clearTimeout(timer)
      if (ended === true) return
    }
  }
  return {
    send: text =>
      new Promise((resolve, reject) => {
        child.stdin.write(`${text}\n`, error => {
          if (error === null || error === undefined) resolve()
          else reject(new UpstreamError("NOT_EXECUTED", "the server has gone"))
        })
      }),
    gone,
    stop: () => {
      stopping ??= stop()
      return stopping
    },
  }
}
