/** Progress of a long command, for a user at a terminal. */

/** Standard error, or a test's substitute. */
type Terminal = { readonly isTTY?: boolean; readonly write: (text: string) => unknown }

export type Progress = {
  /** Units done, of all where that is known. */
  readonly show: (done: number, total?: number) => void
  /** Ends the line: before other output, and also when the command failed. */
  readonly end: () => void
}

/** Milliseconds before progress is shown, and between two updates of it. */
const DELAY_MS = 1000

/** Rewrites one line once a second; writes nothing where there is no terminal. @param unit what is counted, in the plural */
export function createProgress(terminal: Terminal, unit: string, now: () => number = Date.now): Progress {
  let since = now()
  let shown = false
  return {
    show: (done, total) => {
      if (terminal.isTTY !== true || now() - since < DELAY_MS) return
      since = now()
      shown = true
      terminal.write(`\r${done}${total === undefined ? "" : ` of ${total}`} ${unit}`)
    },
    end: () => {
      if (shown) terminal.write("\n")
      shown = false
    },
  }
}
