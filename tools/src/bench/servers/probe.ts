/** Loaded into a server under measurement: tells over IPC what it has used. Costs nothing between two looks. */
import { monitorEventLoopDelay } from "node:perf_hooks"

/** What a process used since its start, and how late its event loop was since the last look. */
export type Look = {
  /** Processor time of all its threads, user and system, microseconds. */
  readonly micros: number
  /** Bytes. */
  readonly memory: number
  /** Milliseconds, 99th percentile; the monitor's resolution is 1 ms and is taken off. */
  readonly loopDelayP99: number
}

const NANOS_PER_MILLI = 1_000_000
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()

process.on("message", () => {
  const { user, system } = process.cpuUsage()
  const loopDelayP99 = Math.max(0, delay.percentile(99) / NANOS_PER_MILLI - 1)
  delay.reset()
  process.send?.({ micros: user + system, memory: process.memoryUsage.rss(), loopDelayP99 } satisfies Look)
})
// The listener must not keep a server alive that wants to stop.
process.channel?.unref()
