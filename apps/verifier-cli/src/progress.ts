/** Progress of a long command, for a user at a terminal. */

/** Standard error, or a test's substitute. */
type Terminal = { readonly isTTY?: boolean; readonly write: (text: string) => unknown }

export type Progress = {
  /** Entries done, of all. */
  readonly show: (done: number, total: number) => void
  /** Ends the line, also when the command failed. */
  readonly end: () => void
}

/** Rewrites one line; writes nothing where there is no terminal. */
export function createProgress(terminal: Terminal): Progress {
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
