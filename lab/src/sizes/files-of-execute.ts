/** The files of the server that one `POST /execute` passes, counted by the coverage of V8 in this process. Threads are not counted. */
import { mkdtempSync, rmSync } from "node:fs"
import { Session } from "node:inspector/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createApp } from "@runseal/server/app"
import { boot, prepare } from "@runseal/server/boot"
import { readConfig } from "@runseal/server/options/config"
import { createLogger } from "@runseal/server/process-log"
import { openDatabase } from "@runseal/server/store/driver/database"
import { ROOT, readText } from "../../../tools/src/rooms/repository-files.ts"
import { server } from "../../../tools/src/rooms/rooms.ts"
import type { Figure } from "./source-figures.ts"

const EXAMPLE = "examples/first-run.json"

/** Starts a service on a database in memory, executes the first run of the README twice, and counts the second. */
export async function filesOfExecute(): Promise<Figure> {
  const folder = mkdtempSync(join(tmpdir(), "runseal-sizes-"))
  const config = readConfig(["--data-dir", folder, "--region", "eu-test-1"], {})
  if ("ended" in config) throw new Error("the options ask for help")
  const db = await openDatabase({ kind: "memory" })
  const logger = createLogger("error", { write: () => undefined })
  const { deps, close } = await boot({
    config,
    prepared: prepare(config),
    db,
    logger,
    nowMs: Date.now,
    uptimeMs: Date.now,
  })
  const session = new Session()
  session.connect()
  try {
    const app = createApp(deps)
    const execute = (): Promise<Response> | Response =>
      app.request("/execute", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: readText(EXAMPLE),
      })
    await execute()
    await session.post("Profiler.enable")
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
    await session.post("Profiler.takePreciseCoverage")
    const { status } = await execute()
    const { result } = await session.post("Profiler.takePreciseCoverage")
    if (status !== 200) throw new Error(`POST /execute answered ${status}`)
    const place = new URL(`${server("")}`, `file://${ROOT}`).href
    const passed = result.filter(
      ({ url, functions }) =>
        url.startsWith(place) && functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)),
    )
    return { name: "files of the server that one POST /execute passes", value: passed.length, atMost: 70 }
  } finally {
    session.disconnect()
    await close()
    await db.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
