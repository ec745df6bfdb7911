/** Servers under measurement, each a process of its own that reports its usage over IPC. */
import { startServer as startProcess } from "../../../../tools/src/demo/server-process.ts"
import type { Look } from "./probe.ts"

const PROBE = new URL("probe.ts", import.meta.url).href

export const ECHO = "lab/src/bench/servers/echo-server.ts"

export type ServerProcess = {
  readonly url: string
  readonly look: () => Promise<Look>
  /** Sends SIGTERM and waits for the end. @throws Error when it had to be killed */
  readonly stop: () => Promise<void>
}

/** Starts a script, named from the repository's root. @throws Error with what it wrote when it does not listen */
export async function startServer(script: string, options: readonly string[]): Promise<ServerProcess> {
  const { url, child, stop } = await startProcess(["--import", PROBE, script, ...options])
  return {
    url,
    look: () =>
      new Promise((resolve, reject) => {
        child.once("message", (look: Look) => resolve(look))
        child.send("look", error => {
          if (error !== null) reject(error)
        })
      }),
    stop: async () => {
      const code = await stop()
      if (code !== 0) throw new Error(`a server did not stop by itself: ${code}`)
    },
  }
}
