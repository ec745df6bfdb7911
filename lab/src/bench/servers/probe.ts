/** Loaded into a server under measurement: reports its usage over IPC. Its monitor wakes the event loop each millisecond. */
import { readdirSync, readFileSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"

/** What a process used since its start, and the delay of its event loop since the last message. */
export type Look = {
  /** Processor time of all its threads, user and system, microseconds. */
  readonly micros: number
  /** Of these, the main thread's and those of worker threads; the rest is the engine's. Undefined where the system does not count them. */
  readonly threads: { readonly main: number; readonly workers: number } | undefined
  /** Bytes of the process, all threads. */
  readonly memory: number
  /** Bytes of the main thread's heap that hold objects, garbage among them until it is collected. */
  readonly heap: number
  /** Milliseconds, 99th percentile, less the monitor's resolution of 1 ms. */
  readonly loopDelayP99: number
  /** Canonical texts that the main thread wrote; none where they are not counted. */
  readonly texts: { readonly count: number; readonly bytes: number }
}

/** Raised by text-counter.ts, where that is loaded. */
export const counted: { -readonly [Name in keyof Look["texts"]]: number } = { count: 0, bytes: 0 }

const NANOS_PER_MILLI = 1_000_000
const NANOS_PER_MICRO = 1000
const TASKS = "/proc/self/task"

/** Processor time of threads by the names that Node gives them. Linux only: proc(5). */
function threadTimes(): Look["threads"] {
  try {
    const tasks = readdirSync(TASKS).map(task => ({
      name: readFileSync(`${TASKS}/${task}/comm`, "utf8").trim(),
      micros: Number(readFileSync(`${TASKS}/${task}/schedstat`, "utf8").split(" ")[0]) / NANOS_PER_MICRO,
    }))
    const of = (wanted: string): number =>
      tasks.reduce((sum, { name, micros }) => sum + (name === wanted ? micros : 0), 0)
    const times = { main: of("MainThread"), workers: of("WorkerThread") }
    return times.main > 0 ? times : undefined
  } catch {
    return undefined
  }
}

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()

process.on("message", () => {
  const { user, system } = process.cpuUsage()
  const loopDelayP99 = Math.max(0, delay.percentile(99) / NANOS_PER_MILLI - 1)
  delay.reset()
  const { rss: memory, heapUsed: heap } = process.memoryUsage()
  const look: Look = { micros: user + system, threads: threadTimes(), memory, heap, loopDelayP99, texts: counted }
  process.send?.(look)
})
// The listener must not keep the process alive when the server stops.
process.channel?.unref()
