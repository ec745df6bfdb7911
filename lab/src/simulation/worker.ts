/** A thread that simulates seeds, one after the other, until it is told to end. */
import { parentPort, workerData } from "node:worker_threads"
import { openSimulation } from "./simulate.ts"

/** Every so-many-th seed from the first one on. */
export type Share = { readonly first: number; readonly step: number; readonly seeds: number }

/** What a thread says of each seed. */
export type Report = {
  readonly seed: number
  readonly counts: ReadonlyMap<string, number>
  readonly failure: string | undefined
}

/** An error as it is shown. */
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
