/** Servers under measurement, each a process of its own on a free loopback port. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import type { Look } from "./probe.ts"

const PROBE = new URL("probe.ts", import.meta.url).href
const START_DEADLINE_MS = 60_000
const STOP_DEADLINE_MS = 45_000

export const SERVICE: string = fileURLToPath(new URL("../../../../apps/server/src/main.ts", import.meta.url))
export const NAIVE: string = fileURLToPath(new URL("naive-server.ts", import.meta.url))
export const ECHO: string = fileURLToPath(new URL("echo-server.ts", import.meta.url))

export type ServerProcess = {
  readonly url: string
  readonly look: () => Promise<Look>
  /** Asks it to stop and waits for the end. */
  readonly stop: () => Promise<void>
}

/** The environment without options that the reader's deployment may have. */
const plainEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(RUNSEAL|NODE)_/.test(name)))

/**
 * Starts a script and waits until it writes that it listens.
 * @param flags for Node itself, such as `--cpu-prof`
 * @throws Error with what it said when it does not
 */
export async function startServer(
  script: string,
  options: readonly string[],
  flags: readonly string[] = [],
): Promise<ServerProcess> {
  const child = spawn(process.execPath, ["--import", PROBE, ...flags, script, ...options], {
    env: plainEnvironment(),
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  })
  const kill = (): void => void child.kill("SIGKILL")
  process.once("exit", kill)
  const ended = once(child, "exit").then(() => process.off("exit", kill))
  const url = await untilListening(child, ended)
  return {
    url,
    look: () => lookAt(child),
    stop: async () => {
      child.kill("SIGTERM")
      const deadline = setTimeout(kill, STOP_DEADLINE_MS)
      await ended
      clearTimeout(deadline)
      if (child.exitCode !== 0)
        throw new Error(`a server did not stop by itself: ${child.exitCode ?? child.signalCode}`)
    },
  }
}

function lookAt(child: ChildProcess): Promise<Look> {
  return new Promise((resolve, reject) => {
    child.once("message", (look: Look) => resolve(look))
    child.send("look", error => {
      if (error !== null) reject(error)
    })
  })
}

async function untilListening(child: ChildProcess, ended: Promise<unknown>): Promise<string> {
  const said: string[] = []
  const listening = new Promise<string>(resolve => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on("line", line => {
        const url = /"url":"([^"]+)".*"msg":"listening"/.exec(line)?.[1]
        if (url !== undefined) resolve(url)
        if (said.length < 20) said.push(line)
      })
    }
  })
  const deadline = setTimeout(() => child.kill("SIGKILL"), START_DEADLINE_MS)
  const url = await Promise.race([listening, ended.then(() => undefined)])
  clearTimeout(deadline)
  if (url === undefined) throw new Error(`a server did not start: ${said.join("\n")}`)
  return url
}
