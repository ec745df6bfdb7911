/**
 * Room in memory for the bodies of requests under way, from their first byte to their answer. Few bytes can become a hundred times as
 * many when they are read, so both are counted, and nothing is built of a body before there is room for it. Small bodies have room of
 * their own: whoever sends large ones, however many, takes none of it. Decision 0108.
 */
import { setImmediate, setTimeout as sleep } from "node:timers/promises"
import { getHeapStatistics } from "node:v8"
import { type HttpError, unavailable } from "../../http-error.ts"

/** Memory that a node of a body takes at most, in bytes: an object under a name of its own that no other has. */
const NODE_BYTES = 128
/** Copies of a body's text that a run holds at most: as received, as UTF-16, as sealed, as stored. */
const TEXT_COPIES = 5
/** Bytes that a record takes for each of its UTF-16 units when it is read and sent: as text, as values, as bytes. */
const ANSWER_BYTES = 16
/** What any run holds beside its body until it is answered, in bytes. */
const RUN_BYTES = 65_536
/** A body is large that takes more than this, in bytes: some 30 KiB of text, or 3,600 nodes. */
const LARGE_BYTES = 524_288
/** So many bytes of a body may have come before it is large, whatever it will hold. */
const LARGE_RECEIVED_BYTES = 65_536

export type RoomBounds = {
  /** Bytes that small bodies may take together. */
  readonly smallBytes: number
  /** Bytes of large bodies that may have been received and wait to be read. */
  readonly receivedBytes: number
  /** Bytes that large bodies that are read may take together; one alone may take more. */
  readonly readBytes: number
  /** Bytes that large records may take together that are read for answers or being sent. */
  readonly answerBytes: number
  /** Longest a large body waits until it may be read, in milliseconds. */
  readonly waitMs: number
}

/** A quarter of the heap for each. @param heapBytes what the engine may use at most */
function roomBounds(heapBytes: number = getHeapStatistics().heap_size_limit): RoomBounds {
  const share = Math.floor(heapBytes / 4)
  return { smallBytes: share, receivedBytes: share, readBytes: share, answerBytes: share, waitMs: 10_000 }
}

/** The room that one request takes. */
export type BodyHold = {
  /** Counts bytes of the body as they come. @throws HttpError 503 when there is no room for them */
  readonly receive: (bytes: number) => void
  /**
   * Resolves when a body of so many bytes and nodes may be read, at once unless it is large, which is what it resolves to.
   * @throws HttpError 503 when there is no room for it in time
   */
  readonly admit: (bytes: number, nodes: number) => Promise<boolean>
  /** Resolves when long work on the body may begin, of which the event loop does one piece at a time; at once unless it is large. */
  readonly turn: () => Promise<void>
  /**
   * Resolves when a record of so many UTF-16 units may be read for the answer, at once unless it is large.
   * @throws HttpError 503 when too many large records are being answered
   */
  readonly answer: (units: number) => Promise<void>
  /** Gives the room of the body back: the request is answered. */
  readonly release: () => void
  /** Gives the room of the answer back: it was sent, or nobody reads it any more. */
  readonly sent: () => void
}

export type BodyRoom = { readonly open: () => BodyHold }

const full = (): HttpError => unavailable("Too many large requests are under way; nothing was recorded. Try again.")
const busy = (): HttpError => unavailable("Too many requests are under way; nothing was recorded. Try again.")

/** Bytes that are taken, never more than `limit` but by one alone. */
function account(limit: number) {
  let taken = 0
  return {
    fits: (bytes: number): boolean => taken === 0 || taken + bytes <= limit,
    take: (bytes: number): void => {
      taken += bytes
    },
  }
}

type Waiting = { readonly bytes: number; readonly begin: () => void }

/** Room that is waited for, in the order of asking: what does not fit yet is not passed by what is smaller. */
function waitingRoom(limit: number, waitMs: number) {
  const taken = account(limit)
  const queue: Waiting[] = []
  const admitNext = (): void => {
    for (let next = queue[0]; next !== undefined && taken.fits(next.bytes); next = queue[0]) {
      queue.shift()
      taken.take(next.bytes)
      next.begin()
    }
  }
  return {
    /** @throws HttpError 503 when there is no room in time */
    enter: (bytes: number): Promise<void> =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          queue.splice(queue.indexOf(waiting), 1)
          reject(full())
          admitNext()
        }, waitMs)
        const begin = (): void => {
          clearTimeout(late)
          resolve()
        }
        const waiting = { bytes, begin }
        queue.push(waiting)
        admitNext()
      }),
    leave: (bytes: number): void => {
      taken.take(-bytes)
      admitNext()
    },
  }
}

export function openBodyRoom(bounds: RoomBounds = roomBounds()): BodyRoom {
  const small = account(bounds.smallBytes)
  const received = account(bounds.receivedBytes)
  const answers = account(bounds.answerBytes)
  const read = waitingRoom(bounds.readBytes, bounds.waitMs)
  const turn = openLargeTurns()

  const open = (): BodyHold => {
    const holds = { small: 0, received: 0, read: 0 }
    const takeSmall = (bytes: number): void => {
      if (!small.fits(bytes - holds.small)) throw busy()
      small.take(bytes - holds.small)
      holds.small = bytes
    }
    const takeReceived = (bytes: number): void => {
      if (!received.fits(bytes - holds.received)) throw full()
      takeSmall(0)
      received.take(bytes - holds.received)
      holds.received = bytes
    }
    const dropReceived = (): void => {
      received.take(-holds.received)
      holds.received = 0
    }
    let size = 0
    let answer = 0
    return {
      receive: bytes => {
        size += bytes
        if (size > LARGE_RECEIVED_BYTES) takeReceived(size)
        else takeSmall(size)
      },
      admit: async (bytes, nodes) => {
        const needed = RUN_BYTES + TEXT_COPIES * bytes + NODE_BYTES * nodes
        if (needed <= LARGE_BYTES) {
          dropReceived()
          takeSmall(needed)
          return false
        }
        takeReceived(bytes)
        await read.enter(needed)
        holds.read = needed
        dropReceived()
        return true
      },
      turn: async () => {
        if (holds.read + holds.received > 0) await turn()
      },
      answer: async units => {
        const needed = ANSWER_BYTES * units
        if (needed <= LARGE_BYTES) return
        if (!answers.fits(needed)) throw full()
        answers.take(needed)
        answer += needed
        await turn()
      },
      sent: () => {
        answers.take(-answer)
        answer = 0
      },
      release: () => {
        takeSmall(0)
        dropReceived()
        if (holds.read > 0) read.leave(holds.read)
        holds.read = 0
      },
    }
  }
  return { open }
}

/** A piece that took less needs no pause, in milliseconds. */
const SHORT_MS = 2
/** Longest pause, in milliseconds: a piece takes that long on a machine that is slow. */
const MAX_PAUSE_MS = 500

/**
 * Long work in the event loop is done one piece at a time, with as long a pause behind each: whoever is quick gets half of the time. Resolves
 * when a piece may be done: all that the caller does before the event loop comes round again.
 */
function openLargeTurns(): () => Promise<void> {
  const queue: (() => void)[] = []
  let serving = false
  const serve = async (): Promise<void> => {
    serving = true
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const since = performance.now()
      next()
      await setImmediate()
      const took = performance.now() - since
      if (took > SHORT_MS) await sleep(Math.min(took, MAX_PAUSE_MS))
    }
    serving = false
  }
  return () =>
    new Promise(resolve => {
      queue.push(resolve)
      if (!serving) void serve()
    })
}
