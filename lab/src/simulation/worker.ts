/** A thread that simulates seeds, one after the other, until it gets a message. */
import { parentPort, workerData } from "node:worker_threads"
import { openSimulation } from "./simulate.ts"

/** A thread's seeds: every `step`-th one from the first. */
export type Share = { readonly first: number; readonly step: number; readonly seeds: number }

/** A thread's message about a seed. */
export type Report = {
  readonly seed: number
  readonly counts: ReadonlyMap<string, number>
  readonly failure: string | undefined
}

/** The text of an error. */
export const shown = (failure: unknown): string =>
  failure instanceof Error ? (failure.stack ?? failure.message) : `${failure}`

if (parentPort !== null) {
  const port = parentPort
  const { first, step, seeds }: Share = workerData
  const simulation = openSimulation()
  let ended = false
  port.on("message", () => {
    ended = true
  })
  for (let i = 0; i < seeds && !ended; i++) {
    const { seed, failure, counts } = await simulation.run(first + i * step)
    const report: Report = { seed, counts, failure: failure === undefined ? undefined : shown(failure) }
    port.postMessage(report)
  }
  await simulation.close()
  port.close()
}
