/**
 * Decides what happens next. Whatever waits outside of the code under test (a statement on its way, an answer on its way
 * back) is a step here, and nothing else happens between two steps than what the step sets free.
 */
import { setImmediate as macrotask } from "node:timers/promises"
import type { Seeded } from "./seeded.ts"

export type PendingStep = {
  /** Whose step it is: a process, or the database. */
  readonly owner: string
  readonly what: string
  readonly happens: () => void
}

export type Scheduler = {
  /** Adds a step that may happen from now on. Gives what takes it back. */
  readonly add: (step: PendingStep) => () => void
  /** How likely a process's steps are beside those of others, 1 unless said otherwise. */
  readonly slow: (owner: string, weight: number) => void
  readonly waiting: () => number
  /** Lets one step happen and everything that follows from it; false when there is none. */
  readonly step: () => Promise<boolean>
  /** Lets everything happen that follows from what was done outside of steps. */
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
  // All that the code under test waits for are promises and steps of ours: one macrotask later no promise is left to run.
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
