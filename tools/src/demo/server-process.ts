/** A server as a child process on a free port of this machine. When this process ends, the child is killed. */
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { textMember } from "@runseal/core/vocabulary/json-members"

/** A first start creates the database and the keys, which takes long on a slow disk. */
const START_TIMEOUT_MS = 60_000
/** A child that has not stopped after this time is killed. */
const STOP_TIMEOUT_MS = 45_000
/** Lines of output that an error shows when a server does not start. */
const SHOWN_LINES = 12

export const ROOT: string = fileURLToPath(new URL("../../../", import.meta.url))
/** The service, from the repository's root. */
export const SERVICE = "apps/server/bin/runseal-server.js"

export type RunningServer = {
  /** Address without a final slash. */
  readonly url: string
  /** Origin of its transparency log; "" of a server that has none. */
  readonly log: string
  readonly child: ChildProcess
  /** Sends SIGTERM and waits for the end. Gives the exit code; null when it had to be killed. */
  readonly stop: () => Promise<number | null>
}

/** The environment without variables that set options of the service or of Node. */
export const plainEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:RUNSEAL|NODE)_/.test(name)))

/**
 * Starts Node in the repository's root, with an IPC channel, and waits until the server logs that it listens.
 * @param words script and options
 * @param onLine called with each line of the server's output
 * @throws Error with the last lines when it does not start
 */
export async function startServer(
  words: readonly string[],
  onLine: (line: string) => void = () => {},
): Promise<RunningServer> {
  const child = spawn(process.execPath, words, {
    cwd: ROOT,
    env: plainEnvironment(),
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  })
  const kill = (): void => void child.kill("SIGKILL")
  process.prependOnceListener("exit", kill)
  // "close" comes after "exit" and after the last line that was written.
  const ended = new Promise<number | null>(resolve => child.once("close", resolve))
  void ended.then(() => process.off("exit", kill))
  const stop = async (): Promise<number | null> => {
    const timer = setTimeout(kill, STOP_TIMEOUT_MS)
    child.kill("SIGTERM")
    const code = await ended
    clearTimeout(timer)
    return code
  }
  try {
    return { ...(await untilListening(child, ended, onLine)), child, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

type Listening = Pick<RunningServer, "url" | "log">

function untilListening(
  child: ChildProcess,
  ended: Promise<number | null>,
  onLine: (line: string) => void,
): Promise<Listening> {
  return new Promise((resolve, reject) => {
    let lastLines: readonly string[] = []
    const take = (line: string): void => {
      lastLines = [...lastLines, line].slice(-SHOWN_LINES)
      onLine(line)
      const listening = listeningIn(line)
      if (listening !== undefined) resolve(listening)
    }
    for (const output of [child.stdout, child.stderr])
      if (output !== null) createInterface({ input: output }).on("line", take)
    void ended.then(code => reject(new Error([`the server ended with ${code} and wrote:`, ...lastLines].join("\n"))))
    setTimeout(() => reject(new Error("the server did not start in time")), START_TIMEOUT_MS).unref()
  })
}

/** The address in a log line of the server; undefined for any other line. */
function listeningIn(line: string): Listening | undefined {
  try {
    const value = parseStrictJson(line)
    const url = textMember(value, "url")
    if (textMember(value, "msg") !== "listening" || url === undefined) return undefined
    return { url, log: textMember(value, "log") ?? "" }
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined
    throw error
  }
}
