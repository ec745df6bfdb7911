/**
 * The requests of one connection, answered one after the other. Whoever sends the next ones before he has read the last answer
 * (RFC 9112 §9.3.2) makes us hold one answer, not all that he asked for, and stands in no queue behind it more than once.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

/** Requests of one connection that may wait for the answers before theirs; a further one ends the connection. */
export const PIPELINED_MAX = 32

export type Exchange = { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse }

type ConnectionTurns = {
  /** Calls `serve` when every earlier request of the connection is answered. False, and nothing is done, when too many wait. */
  readonly take: (exchange: Exchange, serve: () => void) => boolean
  /** What a connection has asked that is not both read and answered, oldest first. */
  readonly underWay: (socket: Duplex) => readonly Exchange[]
}

type Line = {
  readonly exchanges: Set<Exchange>
  readonly waiting: (() => void)[]
  /** Whether an answer is being made or sent. */
  busy: boolean
}

export function connectionTurns(): ConnectionTurns {
  const lines = new WeakMap<Duplex, Line>()

  const lineOf = (socket: Duplex): Line => {
    const known = lines.get(socket)
    if (known !== undefined) return known
    const line: Line = { exchanges: new Set(), waiting: [], busy: false }
    lines.set(socket, line)
    return line
  }

  /** An exchange is over when its request was read and its answer sent, or the connection is gone. */
  const note = ({ exchanges }: Line, exchange: Exchange): void => {
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
    take: (exchange, serve) => {
      const { socket } = exchange.incoming
      const line = lineOf(socket)
      if (line.waiting.length >= PIPELINED_MAX) return false
      note(line, exchange)
      exchange.outgoing.once("close", () => {
        const next = line.waiting.shift()
        line.busy = next !== undefined
        // An answer can end the connection; nobody is left then to read the next.
        if (socket.writable) next?.()
      })
      if (line.busy) line.waiting.push(serve)
      else {
        line.busy = true
        serve()
      }
      return true
    },
    underWay: socket => [...(lines.get(socket)?.exchanges ?? [])],
  }
}
