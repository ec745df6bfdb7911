/**
 * What a client still sends of a request that is answered already, such as one whose body is too large or whose key is unknown. A
 * connection that is closed while something arrives is reset, and takes the answer from a client that has not read it yet (RFC 9112 §9.6). So
 * the rest is read and thrown away, within bounds.
 */
import type { Exchange } from "./connection-queues.ts"

/** Most that is thrown away of one request, in bytes; its time is bounded as that of every request. */
const DISCARD_MAX_BYTES = 134_217_728
/** The connection is closed when nothing more arrives for so long, in milliseconds. */
const QUIET_MS = 5_000

/** Sees to it that the answer of an exchange arrives, also when the request is not complete by then. */
export function discardRest({ incoming, outgoing }: Exchange): void {
  // Before Node's own listener, which closes the connection after its last answer.
  outgoing.prependListener("finish", () => {
    if (incoming.complete) return
    const { socket } = incoming
    const { destroySoon } = socket
    // An end of what is written leaves the connection readable.
    socket.destroySoon = () => void socket.end()
    const close = (): void => void socket.destroy()
    const quiet = setTimeout(close, QUIET_MS)
    socket.once("close", () => clearTimeout(quiet))
    let left = DISCARD_MAX_BYTES
    // Nobody else reads it any more: a reader that has stopped would hold it up.
    incoming
      .removeAllListeners("data")
      .on("data", (bytes: Uint8Array) => {
        quiet.refresh()
        left -= bytes.length
        if (left < 0) close()
      })
      .once("end", () => {
        clearTimeout(quiet)
        socket.destroySoon = destroySoon
        if (socket.writableEnded) close()
      })
      .resume()
  })
}
