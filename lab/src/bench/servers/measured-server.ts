/** Servers under measurement, each a process of its own that reports its usage over IPC and in its metrics. */
import { parseStrictJson } from "@runseal/canonical"
import { textMember } from "@runseal/core/vocabulary/json-members"
import { startServer as startProcess } from "../../../../tools/src/demo/server-process.ts"
import type { Look } from "./probe.ts"

/** What is loaded into a server before its script. */
export const PROBES = {
  usage: new URL("probe.ts", import.meta.url).href,
  /** Counts canonical texts too, which costs time. */
  texts: new URL("text-counter.ts", import.meta.url).href,
} as const

export const ECHO = "lab/src/bench/servers/echo-server.ts"

export type ServerLook = Look & {
  /** How long it held the lock of the log's head; NaN for a server without metrics. */
  readonly lockSeconds: number
  /** Batches that it built ahead of that lock, behind it, and again behind it; NaN for a server that does not count them. */
  readonly batches: Readonly<Record<BuildPlace, number>>
}

export type BuildPlace = "ahead" | "locked" | "again"

export type ServerProcess = {
  readonly url: string
  readonly look: () => Promise<ServerLook>
  /** Sends SIGTERM and waits for the end. @throws Error when it had to be killed */
  readonly stop: () => Promise<void>
}

/** Starts a script, named from the repository's root. @throws Error with what it wrote when it does not listen */
export async function startServer(
  script: string,
  options: readonly string[],
  probe: keyof typeof PROBES = "usage",
): Promise<ServerProcess> {
  let metrics: string | undefined
  const { url, child, stop } = await startProcess(["--import", PROBES[probe], script, ...options], line => {
    if (line.includes('"msg":"metrics"')) metrics = textMember(parseStrictJson(line), "url")
  })
  const use = (): Promise<Look> =>
    new Promise((resolve, reject) => {
      child.once("message", (look: Look) => resolve(look))
      child.send("look", error => {
        if (error !== null) reject(error)
      })
    })
  return {
    url,
    look: async () => ({ ...(await use()), ...countsIn(await readMetrics(metrics)) }),
    stop: async () => {
      const code = await stop()
      if (code !== 0) throw new Error(`a server did not stop by itself: ${code}`)
    },
  }
}

const readMetrics = async (metrics: string | undefined): Promise<string> =>
  metrics === undefined ? "" : (await fetch(`${metrics}/metrics`)).text()

function countsIn(text: string): Pick<ServerLook, "lockSeconds" | "batches"> {
  const value = (name: string): number =>
    Number(
      text
        .split("\n")
        .find(line => line.startsWith(`${name} `))
        ?.slice(name.length) ?? Number.NaN,
    )
  const built = (place: BuildPlace): number => value(`runseal_batches_built_total{place="${place}"}`)
  return {
    lockSeconds: value("runseal_log_lock_seconds_sum"),
    batches: { ahead: built("ahead"), locked: built("locked"), again: built("again") },
  }
}
