/** `POST /attest` on PostgreSQL and, when peers are asked for, a Tessera POSIX log under the same load. */

import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { type Bench, type Part, USUAL_CONNECTIONS } from "../bench-plan.ts"
import { ATTESTATIONS, TESSERA_ENTRIES } from "../bodies.ts"
import { measure } from "../measured-load.ts"
import type { Section } from "../page.ts"
import { openDeployment } from "../servers/bench-deployment.ts"
import { type DatabaseServer, processorMicros } from "../servers/database-server.ts"
import type { ServerLook, ServerProcess } from "../servers/measured-server.ts"
import {
  inRounds,
  inTurn,
  type LoadRow,
  loadSection,
  loads,
  lockNote,
  type Side,
  saturatedAndHalf,
  times,
} from "./loads.ts"

export const attest: Part = {
  name: "attest",
  about: "attestations a second on PostgreSQL; with --peers beside a Tessera POSIX log",
  run: async bench => (bench.database === undefined ? [] : measureAttest(bench, bench.database)),
}

async function measureAttest(bench: Bench, database: DatabaseServer): Promise<readonly Section[]> {
  const deployment = await openDeployment("attest", bench.plan.keys, database)
  const service = await deployment.start()
  const asked = loads(bench, deployment)
  const changes = { requests: ATTESTATIONS }
  bench.say("attestations: heating")
  await asked.heat([service], changes)
  const peer = bench.peers ? await startTessera(bench.say) : { absent: "--peers was not given" }
  const own = saturatedAndHalf(asked, service, changes)
  const peers = "absent" in peer ? [] : tesseraSides(bench, peer)
  const rows = await inTurn(bench, [...own, ...peers])
  await service.stop()
  deployment.remove()
  if (!("absent" in peer)) await peer.stop()
  const [usual] = rows
  if (usual === undefined) throw new Error("the service is measured")
  const compared = rows.map((row, at): LoadRow => {
    if (at >= own.length) return { ...row, note: `the service is at ${times(usual, row)} this rate` }
    return row === usual ? { ...row, note: lockNote(row) } : row
  })
  const missing = "absent" in peer ? `; Tessera POSIX log not run: ${peer.absent}` : ""
  return [loadSection(`POST /attest on PostgreSQL, ${inRounds(bench.plan)}${missing}`, compared)]
}

/** Both give an index; only a published entry can be proven to anybody, as every answer of `POST /attest` is. */
const tesseraSides = ({ plan }: Bench, tessera: Tessera): readonly Side[] =>
  [
    { what: `Tessera POSIX ${tessera.version}, published`, requests: TESSERA_ENTRIES.published },
    { what: `Tessera POSIX ${tessera.version}, integrated only`, requests: TESSERA_ENTRIES.integrated },
  ].map(({ what, requests }) => ({
    what,
    once: () =>
      measure([tessera], {
        requests,
        secrets: [],
        connections: USUAL_CONNECTIONS,
        warmSeconds: plan.warmSeconds,
        seconds: plan.seconds,
      }),
  }))

// A Tessera POSIX log behind an HTTP server: the program beside this file, built by Go from its modules.

const SOURCE = fileURLToPath(new URL("tessera-posix/", import.meta.url))
const BUILD_TIMEOUT_MS = 600_000
const START_TIMEOUT_MS = 30_000

/** Nothing but its processor time is known of it. */
type Tessera = ServerProcess & { readonly version: string }

/** Starts one with a new log, or says why there is none: no Go, or no modules. */
async function startTessera(say: (line: string) => void): Promise<Tessera | { readonly absent: string }> {
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
  batches: { ahead: Number.NaN, locked: Number.NaN, again: Number.NaN },
  texts: { count: Number.NaN, bytes: Number.NaN },
}
