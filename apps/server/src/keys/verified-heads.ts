/**
 * Sizes of the log at which a process stopped in order, or a start had verified what a crash had left: nothing before these was put off. A
 * file beside the keys, since a crash must leave it behind. Losing it costs one more verification. Decision 0155.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const FILE = "verified-heads"
/** The largest are stored. */
const MAX_SIZES = 64
const LINE = /^\d{1,16}$/

export type VerifiedHeads = {
  readonly has: (size: number) => boolean
  /** A failure of the file system is ignored: the next start then verifies once more. */
  readonly add: (sizes: readonly number[]) => void
}

/** @param directory of the keys */
export function openVerifiedHeads(directory: string): VerifiedHeads {
  const path = join(directory, FILE)
  const read = (): readonly number[] => {
    try {
      return readFileSync(path, "latin1")
        .split("\n")
        .filter(line => LINE.test(line))
        .map(Number)
    } catch {
      return []
    }
  }
  return {
    has: size => read().includes(size),
    add: sizes => {
      if (sizes.every(size => size <= 1)) return
      const all = [...new Set([...read(), ...sizes])].sort((a, b) => a - b).slice(-MAX_SIZES)
      try {
        writeFileSync(`${path}.tmp`, `${all.join("\n")}\n`, { mode: 0o600 })
        renameSync(`${path}.tmp`, path)
      } catch {
        // The next start verifies once more.
      }
    },
  }
}
