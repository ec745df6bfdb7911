/** A Tessera POSIX log behind an HTTP server: the program beside this file, built by Go from its modules. */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { processorMicros } from "./database-server.ts"
import type { ServerLook, ServerProcess } from "./measured-server.ts"

const SOURCE = fileURLToPath(new URL("tessera-posix/", import.meta.url))
const BUILD_TIMEOUT_MS = 600_000
const START_TIMEOUT_MS = 30_000

/** Nothing but its processor time is known of it. */
export type Tessera = ServerProcess & { readonly version: string }

/** Starts one with a new log, or says why there is none: no Go, or no modules. */
export async function startTessera(say: (line: string) => void): Promise<Tessera | { readonly absent: string }> {
  const folder = mkdtempSync(join(tmpdir(), "runseal-tessera-"))
  const clear = (): void => rmSync(folder, { recursive: true, force: true })
  process.once("exit", clear)
  const command = join(folder, "tessera-posix")
  say("Tessera is built by Go")
  try {
    await promisify(execFile)("go", ["build", "-o", command], { cwd: SOURCE, timeout: BUILD_TIMEOUT_MS })
  } catch {
    clear()
    return { absent: "Go is not here, or did not get its modules" }
  }
  const child = spawn(command, [join(folder, "log")], { stdio: ["ignore", "pipe", "ignore"] })
  const kill = (): void => void child.kill("SIGKILL")
  process.once("exit", kill)
  const [url] = await once(createInterface({ input: child.stdout }), "line", {
    signal: AbortSignal.timeout(START_TIMEOUT_MS),
  })
  const [, version = "of unknown version"] = /tessera (v\S+)/.exec(readFileSync(join(SOURCE, "go.mod"), "utf8")) ?? []
  return {
    url: String(url),
    version,
    look: async () => ({ ...UNKNOWN, micros: processorMicros(child.pid ?? 0) ?? Number.NaN }),
    stop: async () => {
      const ended = once(child, "exit")
      child.kill("SIGTERM")
      await ended
      process.off("exit", kill)
      process.off("exit", clear)
      clear()
    },
  }
}

const UNKNOWN: Omit<ServerLook, "micros"> = {
  threads: undefined,
  memory: Number.NaN,
  heap: Number.NaN,
  loopDelayP99: Number.NaN,
  lockSeconds: Number.NaN,
  texts: { count: Number.NaN, bytes: Number.NaN },
}
