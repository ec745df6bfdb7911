/** A server as a child process on a free port of this machine. Whatever ends this process ends the child too. */
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { textMember } from "@runseal/core/vocabulary/json-members"

/** A cold start makes the database and the keys; a slow disk may take its time. */
const START_TIMEOUT_MS = 60_000
/** After that long without an end the child is killed. */
const STOP_TIMEOUT_MS = 45_000
/** Lines shown of a server that does not start. */
const SHOWN_LINES = 12

export const ROOT: string = fileURLToPath(new URL("../../../", import.meta.url))
/** The service, from the repository's root. */
export const SERVICE = "apps/server/src/main.ts"

export type RunningServer = {
  /** Address without a final slash. */
  readonly url: string
  /** Origin of its transparency log; "" of a server that has none. */
  readonly log: string
  readonly child: ChildProcess
  /** Asks it to stop and waits until it has. Gives its exit code; null when it had to be killed. */
  readonly stop: () => Promise<number | null>
}

/** The environment without options of a deployment that the reader may have. */
export const plainEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:RUNSEAL|NODE)_/.test(name)))

/**
 * Starts Node in the repository's root and waits until the server writes that it listens. It has a channel for messages.
 * @param words script and options
 * @param hear is given each line that the server writes
 * @throws Error with the last lines when it does not start
 */
export async function startServer(
  words: readonly string[],
  hear: (line: string) => void = () => {},
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
    return { ...(await untilListening(child, ended, hear)), child, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

type Listening = Pick<RunningServer, "url" | "log">

function untilListening(
  child: ChildProcess,
  ended: Promise<number | null>,
  hear: (line: string) => void,
): Promise<Listening> {
  return new Promise((resolve, reject) => {
    let heard: readonly string[] = []
    const take = (line: string): void => {
      heard = [...heard, line].slice(-SHOWN_LINES)
      hear(line)
      const listening = listeningIn(line)
      if (listening !== undefined) resolve(listening)
    }
    for (const output of [child.stdout, child.stderr])
      if (output !== null) createInterface({ input: output }).on("line", take)
    void ended.then(code => reject(new Error([`the server ended with ${code} and wrote:`, ...heard].join("\n"))))
    setTimeout(() => reject(new Error("the server did not start in time")), START_TIMEOUT_MS).unref()
  })
}

/** What a log line says, when it is the one in which the server says where it listens. */
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
