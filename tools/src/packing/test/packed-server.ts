/** The service as `npx @runseal/server` starts it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import type { EmptyFolder } from "./empty-folder.ts"

export type PackedServer = {
  readonly url: string
  /** Sends SIGTERM to the command's process group, as terminals and supervisors do; gives the command's exit code and output. */
  readonly stop: () => Promise<{ readonly code: number | null; readonly stdout: string }>
}

/** The first start creates the database. */
const START_DEADLINE_MS = 240_000

/** Starts a command on a free port and waits until it listens. @throws Error with its output when it does not */
export async function startPackedServer(folder: EmptyFolder, ...command: readonly string[]): Promise<PackedServer> {
  const [program = "", ...words] = [...command, "--port", "0"]
  const { path: cwd, env } = folder
  const child = spawn(program, words, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true })
  const output = { out: "", err: "" }
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.out += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.err += text))
  const signal = (name: NodeJS.Signals): void => void (child.pid !== undefined && process.kill(-child.pid, name))
  const ended = once(child, "close").then(([code]: (number | null)[]) => ({ code: code ?? null, stdout: output.out }))
  const url = await untilListening(child, () => output.out).catch(() => undefined)
  if (url === undefined) {
    if (child.exitCode === null) signal("SIGKILL")
    throw new Error(`The server did not start: ${output.out}${output.err}`)
  }
  let stopping: PackedServer["stop"] = () => {
    stopping = () => ended
    signal("SIGTERM")
    return ended
  }
  return { url, stop: () => stopping() }
}

function untilListening(child: ChildProcess, output: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(reject, START_DEADLINE_MS)
    child.once("close", reject)
    child.stdout?.on("data", () => {
      const url = /"url":"(http:[^"]+)".*"msg":"listening"/.exec(output())?.[1]
      if (url === undefined) return
      clearTimeout(deadline)
      resolve(url)
    })
  })
}
