/** What runs compete for: processors, event loops, row locks, the write-ahead log. Each keeps count of how busy it was. */
import type { Clock, Process, Step } from "./clock.ts"
import { start } from "./clock.ts"

export type Resource = {
  /** Microseconds it was busy; of a host the sum over its cores. */
  readonly busyUs: () => number
}

export type Host = Resource & {
  /** Uses a core for so long, or longer when there are fewer cores than work. */
  readonly work: (us: number) => Step
}

type Task = { readonly endsAt: number; readonly resume: () => void }

/** A machine whose cores are shared out evenly among all work under way (processor sharing). */
export function createHost(clock: Clock, cores: number): Host {
  const tasks: Task[] = []
  /** What a task would have got that was there from the start. */
  let served = 0
  let busy = 0
  let since = 0
  let plan = 0
  const advance = (): void => {
    const passed = clock.now() - since
    since = clock.now()
    if (tasks.length > 0) served += passed * share()
    busy += passed * Math.min(tasks.length, cores)
  }
  const share = (): number => Math.min(1, cores / tasks.length)
  const planNext = (): void => {
    const mine = ++plan
    const first = tasks.reduce<Task | undefined>((a, b) => (a === undefined || b.endsAt < a.endsAt ? b : a), undefined)
    if (first === undefined) return
    clock.after((first.endsAt - served) / share(), () => {
      if (mine !== plan) return
      advance()
      served = Math.max(served, first.endsAt)
      tasks.splice(tasks.indexOf(first), 1)
      planNext()
      first.resume()
    })
  }
  return {
    work: us => resume => {
      advance()
      tasks.push({ endsAt: served + us, resume })
      planNext()
    },
    busyUs: () => {
      advance()
      return busy
    },
  }
}

export type Lock = Resource & {
  readonly take: Step
  readonly release: () => void
}

/** A lock that goes to whoever has waited longest, as a row lock of PostgreSQL does. */
export function createLock(clock: Clock): Lock {
  const waiting: (() => void)[] = []
  let heldSince: number | undefined
  let busy = 0
  return {
    take: resume => {
      if (heldSince !== undefined) return void waiting.push(resume)
      heldSince = clock.now()
      resume()
    },
    release: () => {
      busy += clock.now() - (heldSince ?? clock.now())
      const next = waiting.shift()
      heldSince = next === undefined ? undefined : clock.now()
      if (next !== undefined) clock.after(0, next)
    },
    busyUs: () => busy + (heldSince === undefined ? 0 : clock.now() - heldSince),
  }
}

export type Thread = Resource & {
  /** Waits for its turn and does the step there; nothing else runs on the thread meanwhile. */
  readonly turn: (step: Step) => Step
}

/** One thread, such as an event loop: whatever is ready runs in the order it became so, one after the other. */
export function createThread(clock: Clock): Thread {
  const lock = createLock(clock)
  return {
    turn: step => resume =>
      lock.take(() =>
        step(() => {
          lock.release()
          resume()
        }),
      ),
    busyUs: lock.busyUs,
  }
}

export type WriteAheadLog = Resource & {
  /** Waits until so many bytes are on disk. */
  readonly flush: (bytes: number) => Step
}

/** One flush at a time; it takes along whatever was written before it began. */
export function createWriteAheadLog(clock: Clock, syncUs: () => number, bytesPerUs: number): WriteAheadLog {
  let waiting: { readonly bytes: number; readonly resume: () => void }[] = []
  let flushing = false
  let busy = 0
  const flushAll = (): void => {
    if (waiting.length === 0) return
    const group = waiting
    waiting = []
    flushing = true
    const us = syncUs() + group.reduce((sum, { bytes }) => sum + bytes, 0) / bytesPerUs
    clock.after(us, () => {
      busy += us
      flushing = false
      for (const { resume } of group) resume()
      if (!flushing) flushAll()
    })
  }
  return {
    flush: bytes => resume => {
      waiting.push({ bytes, resume })
      if (!flushing) flushAll()
    },
    busyUs: () => busy,
  }
}

/** Group commit as the store does it: what waits while a batch is written goes into the next one. */
export function createGroup(most: number, write: (items: number) => Process): { readonly submit: Step } {
  const waiting: (() => void)[] = []
  let writing = false
  function* writeAll(): Process {
    writing = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, most)
      yield* write(batch.length)
      for (const resume of batch) resume()
    }
    writing = false
  }
  return {
    submit: resume => {
      waiting.push(resume)
      if (!writing) start(writeAll())
    },
  }
}

/** The same, but a batch is prepared while the one before it is written. */
export function createTwofoldGroup<Ahead>(
  most: number,
  prepare: (items: number) => Process<Ahead>,
  write: (items: number, ahead: Ahead) => Process,
): { readonly submit: Step } {
  type Prepared = { readonly batch: readonly (() => void)[]; readonly ahead: Ahead }
  const waiting: (() => void)[] = []
  let preparing = false
  let prepared: Prepared | undefined
  let writing = false
  const advance = (): void => {
    if (prepared !== undefined && !writing) start(writeBatch(prepared))
    if (prepared === undefined && !preparing && waiting.length > 0) start(prepareBatch(waiting.splice(0, most)))
  }
  function* prepareBatch(batch: Prepared["batch"]): Process {
    preparing = true
    prepared = { batch, ahead: yield* prepare(batch.length) }
    preparing = false
    advance()
  }
  function* writeBatch({ batch, ahead }: Prepared): Process {
    writing = true
    prepared = undefined
    yield* write(batch.length, ahead)
    writing = false
    for (const resume of batch) resume()
    advance()
  }
  return {
    submit: resume => {
      waiting.push(resume)
      advance()
    },
  }
}
