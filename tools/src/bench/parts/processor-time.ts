/**
 * Processor time of pieces of work, measured in turn so that a machine whose speed drifts treats all alike. All threads of the
 * process count, the collector's and the compiler's as well: that is what a core is kept busy with.
 */
import { median } from "../row.ts"

/** A piece of work and how many calls of it one run makes. */
export type Work = { readonly calls: number; readonly run: () => void }

const WARM_ROUNDS = 40
const COUNTED_ROUNDS = 21

/** Microseconds of processor time a call: for each work the median over the rounds, in the order of the works. */
export function microsPerCall(works: readonly Work[]): readonly number[] {
  const found: number[][] = works.map(() => [])
  for (let round = 0; round < WARM_ROUNDS + COUNTED_ROUNDS; round++) {
    works.forEach(({ calls, run }, work) => {
      const before = process.cpuUsage()
      run()
      const { user, system } = process.cpuUsage(before)
      if (round >= WARM_ROUNDS) found[work]?.push((user + system) / calls)
    })
  }
  return found.map(median)
}
