/** A server as a child process, one message a line. Its environment has no variable of Runseal, so it never sees the API key. */
import { spawn } from "node:child_process"
import type { Readable } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"
import { MESSAGE_MAX_BYTES } from "./json-rpc.ts"
import type { OtherUser } from "./other-user.ts"
import type { StdioServer } from "./servers.ts"
import { type Upstream, UpstreamError } from "./upstream.ts"

/** Milliseconds that a server has to end after its input ended, and then after SIGTERM. */
const END_MS = 1_500
const IS_WINDOWS = process.platform === "win32"

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

export const withoutOurs = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("RUNSEAL_")))

export function startStdioServer(
  { command, args = [], env, cwd }: StdioServer,
  receive: (text: string) => void,
  user?: OtherUser,
): Upstream {
  const child = spawn(command, args, {
    env: { ...withoutOurs(process.env), ...user?.env, ...env },
    stdio: ["pipe", "pipe", "inherit"],
    ...(cwd === undefined ? {} : { cwd }),
    // Node drops the groups of the gateway where it sets these.
    ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    shell: IS_WINDOWS,
    // A group of its own: `npx` and `uvx` start the server as a process that does not end with them.
    detached: !IS_WINDOWS,
  })
  const kill = (signal: NodeJS.Signals): void => {
    try {
      if (IS_WINDOWS || child.pid === undefined) child.kill(signal)
      else process.kill(-child.pid, signal)
    } catch {
      // The whole group has ended.
    }
  }
  const gone = new Promise<number>(resolve => {
    child.once("error", () => resolve(127))
    child.once("close", code => resolve(code ?? 1))
  })
  readLines(child.stdout, receive)
  child.stdout.on("error", () => kill("SIGTERM"))
  child.stdin.on("error", () => undefined)
  const stop = async (): Promise<void> => {
    child.stdin.end()
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const ended = await Promise.race([gone.then(() => true), sleep(END_MS, false, { ref: false })])
      if (ended) return
      kill(signal)
    }
    child.stdout.destroy()
  }
  let stopping: Promise<void> | undefined
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
