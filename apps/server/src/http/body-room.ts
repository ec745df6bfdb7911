/**
 * A memory budget for the bodies of requests under way, from their first byte to their answer. A few bytes can become a hundred times as
 * many when they are parsed, so that bytes and JSON nodes are both counted, and nothing is parsed before the budget allows it. Small bodies
 * have a budget of their own, which large ones cannot use up, and of every budget a caller has a quarter at most. Decision 0108.
 */
import { setImmediate, setTimeout as sleep } from "node:timers/promises"
import { getHeapStatistics } from "node:v8"
import { type HttpError, unavailable } from "../http-error.ts"

/** Most memory that a node of a body takes, in bytes: an object under a name that no other has. */
const NODE_BYTES = 128
/** Most copies of a body's text that a run holds: as received, as UTF-16, as sealed, as stored. */
const TEXT_COPIES = 5
/** Bytes that a record takes for each of its UTF-16 units when it is read and sent: as text, as values, as bytes. */
const ANSWER_BYTES = 16
/** What a run holds beside its body until it is answered, in bytes. */
const RUN_BYTES = 65_536
/** A body is large that takes more than this, in bytes: some 30 KiB of text, or 3,600 nodes. */
const LARGE_BYTES = 524_288
/** A body is large from this many received bytes on, before its nodes are counted. */
const LARGE_RECEIVED_BYTES = 65_536
/** A caller's part of each budget, as with exports: others are served beside one that sends as much as it can. */
const CALLER_SHARE = 1 / 4

export type RoomBounds = {
  /** Bytes that small bodies may take together. */
  readonly smallBytes: number
  /** Bytes of large bodies that are received and wait in the queue to be parsed. */
  readonly receivedBytes: number
  /** Bytes that parsed large bodies may take together; one alone may take more. */
  readonly readBytes: number
  /** Bytes that large records may take together while they are read for answers and sent. */
  readonly answerBytes: number
  /** Longest time that a large body waits in the queue to be parsed, in milliseconds. */
  readonly waitMs: number
}

/** A quarter of the heap for each. @param heapBytes what the engine may use at most */
function roomBounds(heapBytes: number = getHeapStatistics().heap_size_limit): RoomBounds {
  const share = Math.floor(heapBytes / 4)
  return { smallBytes: share, receivedBytes: share, readBytes: share, answerBytes: share, waitMs: 10_000 }
}

/** The memory that one request holds. */
export type BodyHold = {
  /** Counts bytes of the body as they arrive. @throws HttpError 503 when the budget does not allow them */
  readonly receive: (bytes: number) => void
  /**
   * Resolves when a body of so many bytes and nodes may be parsed, with whether it is large. A small one does not wait.
   * @throws HttpError 503 when the budget does not allow it before the timeout
   */
  readonly admit: (bytes: number, nodes: number) => Promise<boolean>
  /** Resolves when long work on the body may start, after the work that is queued before it; at once unless the body is large. */
  readonly queueWork: () => Promise<void>
  /**
   * Resolves when a record of so many UTF-16 units may be read for the answer, at once unless it is large.
   * @throws HttpError 503 when too many large records are being answered
   */
  readonly answer: (units: number) => Promise<void>
  /** Returns the memory of the body: the request is answered. */
  readonly release: () => void
  /** Returns the memory of the answer: it was sent, or its connection is gone. */
  readonly sent: () => void
  /** Whether a large body is parsed and not released yet. */
  readonly isLarge: () => boolean
}

export type BodyRoom = {
  /**
   * Opens a hold without memory.
   * @param callerOf names the caller, once it is known who that is: it is asked when the first byte is counted
   * @param outer that of the request for which the service makes this one. If its body is large, this one's memory is counted and never waited for: the
   *   outer one would be waiting for memory that it holds itself
   */
  readonly open: (callerOf: () => string, outer?: BodyHold) => BodyHold
}

const full = (): HttpError =>
  unavailable("Too many large requests are under way; nothing was recorded. Try again.", "overloaded")
const busy = (): HttpError =>
  unavailable("Too many requests are under way; nothing was recorded. Try again.", "overloaded")

/** A budget in bytes. More than its limit is taken only by one holder alone, more than a caller's share only by its one holder. */
function createBudget(limit: number) {
  let taken = 0
  /** What each caller has taken; nobody is in it who has taken nothing. */
  const ofCallers = new Map<string, number>()
  const fits = (bytes: number): boolean => taken === 0 || taken + bytes <= limit
  /** @param own what the holder itself has taken of it before */
  const fitsShare = (caller: string, bytes: number, own = 0): boolean => {
    const mine = ofCallers.get(caller) ?? 0
    return mine === own || mine + bytes <= limit * CALLER_SHARE
  }
  const take = (caller: string, bytes: number): void => {
    taken += bytes
    const mine = (ofCallers.get(caller) ?? 0) + bytes
    if (mine === 0) ofCallers.delete(caller)
    else ofCallers.set(caller, mine)
  }
  /** One request's part of the budget, in bytes. Setting it throws the refusal when the budget does not allow it. */
  const share = (callerOf: () => string, refusal: () => HttpError) => {
    let held = 0
    return {
      held: () => held,
      set: (bytes: number): void => {
        const more = bytes - held
        if (more === 0) return
        const caller = callerOf()
        if (more > 0 && !(fits(more) && fitsShare(caller, more, held))) throw refusal()
        take(caller, more)
        held = bytes
      },
    }
  }
  return { fits, fitsShare, take, share }
}

type Waiting = { readonly caller: string; readonly bytes: number; readonly start: () => void }

/**
 * A budget with a queue, first in, first out: a small request does not overtake a large one that waits. One whose caller has used up its
 * share holds up nobody else's.
 */
function createQueuedBudget(limit: number, waitMs: number) {
  const budget = createBudget(limit)
  const queue: Waiting[] = []
  const nextInQueue = (): Waiting | undefined => {
    const next = queue.find(({ caller, bytes }) => budget.fitsShare(caller, bytes))
    return next !== undefined && budget.fits(next.bytes) ? next : undefined
  }
  const leaveQueue = (waiting: Waiting): void => void queue.splice(queue.indexOf(waiting), 1)
  const admitNext = (): void => {
    for (let next = nextInQueue(); next !== undefined; next = nextInQueue()) {
      leaveQueue(next)
      budget.take(next.caller, next.bytes)
      next.start()
    }
  }
  return {
    /** @throws HttpError 503 after the timeout */
    enter: (caller: string, bytes: number): Promise<void> =>
      new Promise((resolve, reject) => {
        const timeout = setTimeout(() => {
          leaveQueue(waiting)
          reject(full())
          admitNext()
        }, waitMs)
        const start = (): void => {
          clearTimeout(timeout)
          resolve()
        }
        const waiting = { caller, bytes, start }
        queue.push(waiting)
        admitNext()
      }),
    /** Takes memory at once, also beyond the limit. */
    join: budget.take,
    leave: (caller: string, bytes: number): void => {
      budget.take(caller, -bytes)
      admitNext()
    },
  }
}

export function createBodyRoom(bounds: RoomBounds = roomBounds()): BodyRoom {
  const smallBodies = createBudget(bounds.smallBytes)
  const receivedBodies = createBudget(bounds.receivedBytes)
  const parsedBodies = createQueuedBudget(bounds.readBytes, bounds.waitMs)
  const answers = createBudget(bounds.answerBytes)
  const nextWork = createWorkQueue()

  const open: BodyRoom["open"] = (findCaller, outer) => {
    let known: string | undefined
    // Always the same name, also where a failure comes before a caller is found.
    const callerOf = (): string => (known ??= findCaller())
    const small = smallBodies.share(callerOf, busy)
    const received = receivedBodies.share(callerOf, full)
    const answer = answers.share(callerOf, full)
    let parsed = 0
    let size = 0
    return {
      receive: bytes => {
        size += bytes
        if (outer?.isLarge() === true) return
        if (size <= LARGE_RECEIVED_BYTES) return small.set(size)
        received.set(size)
        small.set(0)
      },
      admit: async (bytes, nodes) => {
        const needed = RUN_BYTES + TEXT_COPIES * bytes + NODE_BYTES * nodes
        if (needed <= LARGE_BYTES) {
          received.set(0)
          small.set(needed)
          return false
        }
        if (outer?.isLarge() === true) parsedBodies.join(callerOf(), needed)
        else {
          received.set(bytes)
          small.set(0)
          await parsedBodies.enter(callerOf(), needed)
        }
        parsed = needed
        received.set(0)
        return true
      },
      queueWork: async () => {
        if (parsed + received.held() > 0) await nextWork()
      },
      answer: async units => {
        const needed = ANSWER_BYTES * units
        if (needed <= LARGE_BYTES) return
        answer.set(answer.held() + needed)
        await nextWork()
      },
      sent: () => answer.set(0),
      isLarge: () => parsed > 0,
      release: () => {
        small.set(0)
        received.set(0)
        if (parsed > 0) parsedBodies.leave(callerOf(), parsed)
        parsed = 0
      },
    }
  }
  return { open }
}

/** No pause follows work that took less, in milliseconds. */
const SHORT_MS = 2
/** Longest pause, in milliseconds: work takes that long only on a slow machine. */
const MAX_PAUSE_MS = 500

/**
 * A queue for long work in the event loop: one piece at a time, each followed by a pause as long as the piece took, so that short requests
 * get half of the time. Resolves when a piece may be done, which is all that the caller does before the event loop continues.
 */
function createWorkQueue(): () => Promise<void> {
  const queue: (() => void)[] = []
  let running = false
  const run = async (): Promise<void> => {
    running = true
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const since = performance.now()
      next()
      await setImmediate()
      const took = performance.now() - since
      if (took > SHORT_MS) await sleep(Math.min(took, MAX_PAUSE_MS))
    }
    running = false
  }
  return () =>
    new Promise(resolve => {
      queue.push(resolve)
      if (!running) void run()
    })
}
