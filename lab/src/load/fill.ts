/** Fills a database with runs: real requests to the service, which seals and verifies each as usual. */
import { type JsonObject, sha256Hex } from "@runseal/canonical"
import { EICAR, execute, full } from "../bench/bodies.ts"
import { type LoadRequest, load } from "../bench/load/load.ts"
import { mintKeys, startService } from "../bench/servers/bench-deployment.ts"

const PROGRAMS = 40
const ROUTES = 25
/** One run in so many carries every section; the others declare their cost alone. */
const FULL_EVERY = 8
/** One run in so many is refused by policy. */
const DENIED_EVERY = 23
/** Different requests in rotation. A prime, so that every caller sends all of them. */
const VARIANTS = 1999
/** Enough to keep batches large; latency does not matter here. */
const CONNECTIONS = 256
const REPORT_EVERY_RUNS = 25_600

const programs = Array.from({ length: PROGRAMS }, (_, program) => sha256Hex(`program ${program}`))
export const programOf = (number: number): string => programs[number % PROGRAMS] ?? ""
export const routeOf = (number: number): string => `desk-${(number * 7) % ROUTES}/approve`

function requestOf(number: number): LoadRequest {
  const denied = number % DENIED_EVERY === 0
  const cost: JsonObject = { request_substance: { cost: { total_tokens: 1000 + (number % 500) } } }
  const body: JsonObject = {
    ...(number % FULL_EVERY === 0 ? full(number / FULL_EVERY) : cost),
    program_id: programOf(number),
    route_id: routeOf(number),
    registry_record_hash: sha256Hex("registry"),
    payload: denied ? EICAR : `Approve invoice ${number} over ${100 + (number % 900)} EUR.`,
  }
  return execute(body, denied ? 422 : 200)
}

export type Amount = {
  readonly runs: number
  /** Callers beside the first, who makes every second run. */
  readonly keys: number
  /** Time limit, after which fewer runs are accepted. */
  readonly minutes: number
}

/** Secrets of the callers; the first makes every second run. */
export type Callers = {
  /** Undefined when no load filled the database before. */
  readonly before: readonly string[] | undefined
  /** Called before the first run. */
  readonly keep: (secrets: readonly string[]) => void
}

/**
 * @param folder the service's data folder
 * @returns the result in one sentence
 */
export async function fill(
  { url, folder }: { readonly url: string; readonly folder: string },
  { runs, keys, minutes }: Amount,
  { before, keep }: Callers,
  say: (line: string) => void,
): Promise<string> {
  const service = await startService(folder, url)
  const secrets = before ?? (await mintKeys(service.url, keys + 1))
  keep(secrets)
  const [first = "", ...others] = secrets
  const requests = Array.from({ length: VARIANTS }, (_, number) => requestOf(number))
  const job = {
    urls: [service.url],
    requests,
    secrets: others.flatMap(other => [first, other]),
    connections: CONNECTIONS,
    warmSeconds: 0,
  }
  const startMs = performance.now()
  const secondsLeft = (): number => minutes * 60 - (performance.now() - startMs) / 1000
  const rate = (sealed: number): number => Math.round((sealed * 1000) / (performance.now() - startMs))
  let sealed = 0
  while (sealed < runs && secondsLeft() > 0) {
    const requestsMax = Math.min(REPORT_EVERY_RUNS, runs - sealed)
    sealed += (await load({ ...job, requestsMax, seconds: secondsLeft() })).answers
    say(`${sealed} runs, ${rate(sealed)} a second`)
  }
  await service.stop()
  const more = before === undefined ? "" : " more"
  return `${sealed.toLocaleString("en")} runs${more} sealed by the service, ${rate(sealed)} a second`
}
