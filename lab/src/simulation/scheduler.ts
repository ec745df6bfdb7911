/**
 * Decides what happens next. Everything that is pending outside of the code under test (a statement or answer in transit)
 * is a step here, and between two steps only the code runs that the first one resumed.
 */
import { setImmediate as macrotask } from "node:timers/promises"
import type { Seeded } from "../seeded.ts"

export type PendingStep = {
  /** The process that makes the step, or the database. */
  readonly owner: string
  readonly what: string
  readonly happens: () => void
}

export type Scheduler = {
  /** Adds a step that may happen from now on. Gives a function that removes it. */
  readonly add: (step: PendingStep) => () => void
  /** Sets the relative probability of a process's steps; 1 by default. */
  readonly slow: (owner: string, weight: number) => void
  readonly waiting: () => number
  /** Makes one step and runs all code that it resumes; false when there is no step. */
  readonly step: () => Promise<boolean>
  /** Runs all code that was resumed outside of steps. */
  readonly settle: () => Promise<void>
  /** A line of the trace. */
  readonly note: (line: string) => void
  readonly trace: readonly string[]
}

export function createScheduler(random: Seeded): Scheduler {
  const steps: PendingStep[] = []
  const weights = new Map<string, number>()
  const trace: string[] = []
  const note = (line: string): void => void trace.push(`${trace.length} ${line}`)
  const remove = (step: PendingStep): void => {
    const at = steps.indexOf(step)
    if (at >= 0) steps.splice(at, 1)
  }
  // The code under test only waits for promises and for steps: after one macrotask every promise job has run.
  const settle = async (): Promise<void> => macrotask()
  const choose = (): PendingStep | undefined => {
    const weightOf = ({ owner }: PendingStep): number => weights.get(owner) ?? 1
    let left = random.unit() * steps.reduce((sum, step) => sum + weightOf(step), 0)
    for (const step of steps) {
      left -= weightOf(step)
      if (left <= 0) return step
    }
    return steps.at(-1)
  }
  return {
    add: step => {
      steps.push(step)
      return () => remove(step)
    },
    slow: (owner, weight) => weights.set(owner, weight),
    waiting: () => steps.length,
    step: async () => {
      const next = choose()
      if (next === undefined) return false
      remove(next)
      note(`${next.owner}: ${next.what}`)
      next.happens()
      await settle()
      return true
    },
    settle,
    note,
    trace,
  }
}
