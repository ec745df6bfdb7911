/** The real server as a child process. Whatever ends the demo ends the child too. */
import { spawn } from "node:child_process"
import { appendFileSync } from "node:fs"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { textMember } from "@runseal/core/vocabulary/json-members"

/** A cold start makes the database and the keys; a slow disk may take its time. */
const START_TIMEOUT_MS = 60_000
/** After that long without an end the child is killed. */
const STOP_TIMEOUT_MS = 15_000
/** Lines shown of a server that does not start. */
const LAST_WORDS = 12

export const SERVER = "apps/server/src/main.ts"

export type Service = {
  /** Address without a final slash. */
  readonly url: string
  /** Origin of its transparency log. */
  readonly log: string
  /** Asks it to stop and waits until it has. Gives its exit code; null when it had to be killed. */
  readonly stop: () => Promise<number | null>
}
type Listening = Pick<Service, "url" | "log">

/** The environment without options of a deployment that the reader may have. */
export const plainEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("RUNSEAL_")))

/** Starts the server on a free port. @throws Error with what it said when it does not start */
export async function startService(root: string, options: readonly string[], logFile: string): Promise<Service> {
  const child = spawn(process.execPath, [SERVER, "--port", "0", ...options], {
    cwd: root,
    env: plainEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  })
  const kill = (): void => {
    child.kill("SIGKILL")
  }
  process.prependOnceListener("exit", kill)
  // "close" comes after "exit" and after the last line that was said.
  const ended = new Promise<number | null>(resolve => child.once("close", resolve))
  const stop = async (): Promise<number | null> => {
    const timer = setTimeout(kill, STOP_TIMEOUT_MS)
    child.kill("SIGTERM")
    const code = await ended
    clearTimeout(timer)
    process.off("exit", kill)
    return code
  }
  const started = new Promise<Listening>((resolve, reject) => {
    let heard: readonly string[] = []
    const hear = (line: string): void => {
      heard = [...heard, line].slice(-LAST_WORDS)
      appendFileSync(logFile, `${line}\n`)
      const said = listening(line)
      if (said !== undefined) resolve(said)
    }
    for (const output of [child.stdout, child.stderr]) eachLine(output, hear)
    const refused = (code: number | null): Error =>
      new Error([`the server ended with ${code} and said:`, ...heard].join("\n"))
    ended.then(code => reject(refused(code)), reject)
    setTimeout(() => reject(new Error("the server did not start in time")), START_TIMEOUT_MS).unref()
  })
  try {
    return { ...(await started), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const eachLine = (output: Readable, hear: (line: string) => void): void => {
  createInterface({ input: output }).on("line", hear)
}

/** What the server's log line says, when it is the one in which it says where it listens. */
function listening(line: string): Listening | undefined {
  try {
    const value = parseStrictJson(line)
    const [url, log] = [textMember(value, "url"), textMember(value, "log")]
    const said = textMember(value, "msg") === "listening" && url !== undefined && log !== undefined
    return said ? { url, log } : undefined
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined
    throw error
  }
}
