/** How far a long command has come, for who waits at a terminal. */

/** Where it is shown: standard error, or what a test gives. */
type Terminal = { readonly isTTY?: boolean; readonly write: (text: string) => unknown }

export type Progress = {
  /** Entries done, of all. */
  readonly show: (done: number, total: number) => void
  /** Leaves the line, whatever became of the command. */
  readonly end: () => void
}

/** One line, written over and over; nothing where there is no terminal. */
export function progressOn(terminal: Terminal): Progress {
  let shown = false
  return {
    show: (done, total) => {
      if (terminal.isTTY !== true) return
      shown = true
      terminal.write(`\r${done} of ${total} entries`)
    },
    end: () => {
      if (shown) terminal.write("\n")
    },
  }
}
