/**
 * A socket for the driver, which writes each statement by itself. What is written before the event loop goes on leaves in one system call;
 * otherwise each statement of a batch would take one, and the server would wake up for each.
 */
import type { Socket } from "node:net"

/** The socket, which gathers what is written to it. */
export function gathering(socket: Socket): Socket {
  const { write } = socket
  let gathers = false
  const gather = (...words: Parameters<typeof write>): boolean => {
    if (!gathers) {
      gathers = true
      socket.cork()
      // After all promises that are settled now: statements that are sent together are written by them.
      process.nextTick(() => {
        gathers = false
        socket.uncork()
      })
    }
    return Reflect.apply(write, socket, words)
  }
  return Object.assign(socket, { write: gather })
}
