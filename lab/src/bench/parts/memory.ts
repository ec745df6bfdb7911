/** Memory of the service over minutes under full load: whether it stops growing after the warm-up. */

import { type Bench, type Part, USUAL_CONNECTIONS } from "../bench-plan.ts"
import { FULL } from "../bodies.ts"
import { load } from "../load/load.ts"
import { readable, type Section } from "../page.ts"
import { openDeployment } from "../servers/bench-deployment.ts"
import type { ServerProcess } from "../servers/measured-server.ts"
import type { Look } from "../servers/probe.ts"

const MEBIBYTE = 2 ** 20
const MS_A_MINUTE = 60_000
/** Interval between samples: short enough that garbage collections even out. */
const SAMPLE_EVERY_MS = 2000
/** Share of the time for the warm-up, in which caches fill and the heap finds its size. */
const WARM_SHARE = 1 / 3
/** Lines of the table. */
const SHOWN = 11
/** More counts as growth. At 450 runs a second it is 190 bytes a run: one small leaked object. */
const FLAT_MIB_A_MINUTE = 5

export const memory: Part = {
  name: "memory",
  about: "memory over 10 minutes at 64 connections, only when it is asked for",
  onlyByName: true,
  run: async bench => [await measureMemory(bench)],
}

/** A sample, taken some minutes after the load started. */
type Sample = { readonly minute: number; readonly memory: number; readonly heap: number }

async function measureMemory({ plan, database, say }: Bench): Promise<Section> {
  const deployment = await openDeployment("memory", plan.keys, database)
  const service = await deployment.start()
  say(`memory: ${plan.memoryMinutes} minutes under load`)
  const samples: Sample[] = []
  const startMs = performance.now()
  const watch = setInterval(() => {
    void service.look().then(look => samples.push(sampleOf(look, (performance.now() - startMs) / MS_A_MINUTE)))
  }, SAMPLE_EVERY_MS)
  const { perSecond, p99, answers } = await load(jobFor(service, deployment.secrets(), plan.memoryMinutes)).finally(
    () => clearInterval(watch),
  )
  await service.stop()
  deployment.remove()
  const minutes = plan.memoryMinutes === 1 ? "a minute" : `${plan.memoryMinutes} minutes`
  const store = database === undefined ? "the embedded database" : "PostgreSQL"
  return {
    title: `Memory of the service: ${answers.toLocaleString("en")} runs in ${minutes} on ${store}, ${readable(perSecond)} a second, p99 ${readable(p99)} ms`,
    columns: ["minutes under load", "process MiB", "heap of the main thread MiB", ""],
    rows: [...shown(samples), verdict(samples, plan.memoryMinutes)],
  }
}

const jobFor = ({ url }: ServerProcess, secrets: readonly string[], minutes: number): Parameters<typeof load>[0] => ({
  urls: [url],
  requests: FULL,
  secrets,
  connections: USUAL_CONNECTIONS,
  warmSeconds: 0,
  seconds: minutes * 60,
})

const sampleOf = ({ memory, heap }: Look, minute: number): Sample => ({
  minute,
  memory: memory / MEBIBYTE,
  heap: heap / MEBIBYTE,
})

/** Samples at even distances, including the first and the last. */
function shown(samples: readonly Sample[]): Section["rows"] {
  const lines = Math.min(SHOWN, samples.length)
  const at = Array.from({ length: lines }, (_, line) =>
    Math.round((line * (samples.length - 1)) / Math.max(1, lines - 1)),
  )
  return at.flatMap(index => {
    const sample = samples[index]
    return sample === undefined ? [] : [[...[sample.minute, sample.memory, sample.heap].map(readable), ""]]
  })
}

/** The last line: how fast both grow after the warm-up, and whether that counts as flat. */
function verdict(samples: readonly Sample[], minutes: number): readonly string[] {
  const warm = samples.filter(({ minute }) => minute >= minutes * WARM_SHARE)
  const grows = (of: (sample: Sample) => number): number =>
    slope(warm.map(sample => ({ x: sample.minute, y: of(sample) })))
  const [whole, heap] = [grows(({ memory }) => memory), grows(sample => sample.heap)]
  const flat = whole <= FLAT_MIB_A_MINUTE && heap <= FLAT_MIB_A_MINUTE
  const from = `from minute ${readable(minutes * WARM_SHARE)} on, ${warm.length} samples, least squares`
  const result = flat ? "flat" : "**it grows**"
  return [
    "growth a minute",
    readable(whole),
    readable(heap),
    `${from}; ${result}: the bound is ${FLAT_MIB_A_MINUTE} MiB a minute`,
  ]
}

type Point = { readonly x: number; readonly y: number }

/** How much y grows with 1 of x, by least squares; NaN for fewer than two different x. */
export function slope(points: readonly Point[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map(point => point.x)), mean(points.map(point => point.y))]
  const along = points.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0)
  const across = points.reduce((sum, point) => sum + (point.x - x) ** 2, 0)
  return across === 0 ? Number.NaN : along / across
}
