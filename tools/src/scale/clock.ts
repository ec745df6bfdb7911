/** Simulated time: what happens at an instant happens in the order it was asked for, so that a run repeats exactly. */

/** Something a process waits for: calls `resume` when it is there. */
export type Step = (resume: () => void) => void

/** A process: a generator that yields what it waits for. */
export type Process<Result = void> = Generator<Step, Result, void>

export type Clock = {
  /** Microseconds since the start. */
  readonly now: () => number
  readonly after: (us: number, happens: () => void) => void
  /** Lets time pass until the condition holds; false when nothing is left to happen before that. */
  readonly runUntil: (condition: () => boolean) => boolean
}

type Happening = { readonly at: number; readonly order: number; readonly happens: () => void }

const isBefore = (a: Happening, b: Happening): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)

/** A clock at 0. */
export function createClock(): Clock {
  const heap: Happening[] = []
  let now = 0
  let order = 0
  return {
    now: () => now,
    after: (us, happens) => push(heap, { at: now + Math.max(0, us), order: order++, happens }),
    runUntil: condition => {
      while (!condition()) {
        const next = pop(heap)
        if (next === undefined) return false
        now = next.at
        next.happens()
      }
      return true
    },
  }
}

/** Waits. */
export const pause =
  (clock: Clock, us: number): Step =>
  resume =>
    clock.after(us, resume)

/** Starts a process; it runs to its first wait at once. */
export function start(process: Process): void {
  const next = (): void => {
    const { done, value } = process.next()
    if (done !== true) value(next)
  }
  next()
}

/** Starts a step that runs beside; what is given back waits for its end. */
export function beside(step: Step): Step {
  let ended = false
  let waiting: (() => void) | undefined
  step(() => {
    ended = true
    waiting?.()
  })
  return resume => {
    if (ended) resume()
    else waiting = resume
  }
}

function push(heap: Happening[], added: Happening): void {
  let at = heap.push(added) - 1
  while (at > 0) {
    const above = (at - 1) >> 1
    const parent = heap[above]
    if (parent === undefined || !isBefore(added, parent)) break
    heap[at] = parent
    at = above
  }
  heap[at] = added
}

function pop(heap: Happening[]): Happening | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return first
  let at = 0
  for (;;) {
    let below = 2 * at + 1
    let child = heap[below]
    if (child === undefined) break
    const right = heap[below + 1]
    if (right !== undefined && isBefore(right, child)) {
      child = right
      below++
    }
    if (!isBefore(child, last)) break
    heap[at] = child
    at = below
  }
  heap[at] = last
  return first
}
