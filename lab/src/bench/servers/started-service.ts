/** One start of the service: how long until it is ready, what it costs, and the memory that it then has. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { plainEnvironment } from "../../../../tools/src/demo/server-process.ts"
import { processorMicros } from "./database-server.ts"

export type Start = {
  /** Milliseconds until `GET /ready` answered 200. */
  readonly ms: number
  /** Processor time until then, of all threads, microseconds. */
  readonly micros: number
  /** Bytes of the process then. */
  readonly memory: number
}

const LISTENING = /"url":"([^"]+)".*"msg":"listening"/
/** Milliseconds after which a start has failed. */
const DEADLINE_MS = 120_000

/** Starts a program until it is ready, and stops it. @throws Error when it is not ready, or does not stop by itself */
export const startOnce = (words: readonly string[]): Promise<Start> =>
  untilLine(words, LISTENING, async address => {
    const { status } = await fetch(`${address}/ready`)
    if (status !== 200) throw new Error(`a service that started answers ${status} under /ready`)
  })

/** @param ready called with what the pattern found in a line of the output */
export async function untilLine(
  words: readonly string[],
  pattern: RegExp,
  ready: (found: string) => Promise<void> = async () => {},
): Promise<Start> {
  const begin = performance.now()
  const child = spawn(process.execPath, words, { env: plainEnvironment(), stdio: ["ignore", "pipe", "inherit"] })
  const ended = once(child, "close")
  const kill = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS)
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const found = pattern.exec(line)
      if (found === null) continue
      await ready(found[1] ?? "")
      const ms = performance.now() - begin
      const use = { ms, micros: processorMicros(child.pid ?? 0) ?? Number.NaN, memory: residentBytes(child.pid ?? 0) }
      child.stdout.resume()
      child.kill("SIGTERM")
      const [code] = await ended
      if (code !== 0 && code !== null) throw new Error(`a program ended with ${code}`)
      return use
    }
    throw new Error("a program ended before it was ready")
  } finally {
    clearTimeout(kill)
    child.kill("SIGKILL")
  }
}

/** proc(5), /proc/pid/status; NaN where the system has none. */
function residentBytes(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024
  } catch {
    return Number.NaN
  }
}
