/**
 * A queue for the pipelined requests of each connection (RFC 9112 §9.3.2), which are answered one at a time. A client that sends further
 * requests before it has read an answer makes the service hold one answer in memory, not all of them.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

/** Requests that may wait in the queue of one connection; a further one ends the connection. */
export const PIPELINED_MAX = 32

export type Exchange = { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse }

type ConnectionQueues = {
  /** Calls `serve` when every earlier request of the connection is answered. False when the queue is full; `serve` is not called then. */
  readonly enqueue: (exchange: Exchange, serve: () => void) => boolean
  /** Requests of a connection that are not completely read and answered, oldest first. */
  readonly underWay: (socket: Duplex) => readonly Exchange[]
}

type Queue = {
  readonly exchanges: Set<Exchange>
  readonly waiting: (() => void)[]
  /** Whether a request is being answered. */
  busy: boolean
}

export function createConnectionQueues(): ConnectionQueues {
  const queues = new WeakMap<Duplex, Queue>()

  const queueOf = (socket: Duplex): Queue => {
    const known = queues.get(socket)
    if (known !== undefined) return known
    const queue: Queue = { exchanges: new Set(), waiting: [], busy: false }
    queues.set(socket, queue)
    return queue
  }

  /** An exchange is over when its request was read and its answer sent, or the connection is gone. */
  const track = ({ exchanges }: Queue, exchange: Exchange): void => {
    exchanges.add(exchange)
    let open = 2
    const settle = (): void => {
      open -= 1
      if (open === 0) exchanges.delete(exchange)
    }
    exchange.incoming.once("close", settle)
    exchange.outgoing.once("close", settle)
  }

  return {
    enqueue: (exchange, serve) => {
      const { socket } = exchange.incoming
      const queue = queueOf(socket)
      if (queue.waiting.length >= PIPELINED_MAX) return false
      track(queue, exchange)
      exchange.outgoing.once("close", () => {
        const next = queue.waiting.shift()
        queue.busy = next !== undefined
        // The answer may have ended the connection; then the next one has no reader.
        if (socket.writable) next?.()
      })
      if (queue.busy) queue.waiting.push(serve)
      else {
        queue.busy = true
        serve()
      }
      return true
    },
    underWay: socket => [...(queues.get(socket)?.exchanges ?? [])],
  }
}
