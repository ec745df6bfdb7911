/** What stays as fast as in an empty database, measured through the real server over HTTP. */

import { measure } from "../bench/measured-load.ts"
import { type LoadRow, loadSection } from "../bench/parts/load-table.ts"
import { type Section, sectionOf } from "../bench/row.ts"
import { diskUse } from "./disk-use.ts"
import { compareInserts } from "./inserts.ts"
import type { Loaded } from "./loaded.ts"
import { readKinds } from "./read-kinds.ts"
import { startService } from "./start-service.ts"
import type { Target } from "./target.ts"

/** One reader at a time: what counts here is how long one waits, and not how many are served. */
const READERS = 1
/** Seconds in which all kinds are read in turn before any is counted: the service's code is compiled meanwhile. */
const HEAT_SECONDS = 10
const WARM_SECONDS = 0.5
const SECONDS = 3
/** Of each kind so many different requests. */
const HEATING_PATHS = 10

const MEBIBYTE = 2 ** 20

export async function measureFlatness(
  target: Target,
  loaded: Loaded,
  say: (line: string) => void,
): Promise<readonly Section[]> {
  const service = await startService(target.url, target.folder)
  const secrets = loaded.secrets.slice(0, 1)
  const { look } = target
  const { title, kinds } = await readKinds(target.url, service.url, secrets[0] ?? "")
  const asked = (paths: readonly string[]) => paths.map(path => ({ method: "GET", path, status: 200 }) as const)
  say("all kinds in turn: code is compiled")
  const all = asked(kinds.flatMap(({ paths }) => paths.slice(0, HEATING_PATHS)))
  await measure([service], { requests: all, secrets, connections: READERS, warmSeconds: 0, seconds: HEAT_SECONDS })
  const rows: LoadRow[] = []
  for (const { what, paths, note = "" } of kinds) {
    say(what)
    const job = { requests: asked(paths), secrets, connections: READERS, warmSeconds: WARM_SECONDS, seconds: SECONDS }
    rows.push({ what, note, measured: await measure([service], job, () => look(target.url)) })
  }
  const { memory } = await service.look()
  await service.stop()
  const inserts = await compareInserts(target, loaded, say)
  const memoryRow = {
    what: "memory of the service after all of these reads",
    value: memory / MEBIBYTE,
    unit: "MiB",
    note: "",
  }
  return [
    loadSection(title, rows),
    inserts.section,
    sectionOf("The service on it", [...inserts.starts, memoryRow]),
    await diskUse(target.url),
  ]
}
