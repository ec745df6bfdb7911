/** How many connections a process can have within the file descriptors that it may open. A connection takes one; so does each open file. */
import { readFileSync } from "node:fs"

/** Most connections at once, however many descriptors there are. */
const MOST_CONNECTIONS = 10_000
/** Descriptors for all but connections: the embedded database has up to 150 files open, Node itself some 40; the rest is for requests abroad. */
const OTHER_DESCRIPTORS = 300
/** Where there are few, this part of them is for connections. */
const LEAST_PART = 4

/** The descriptors that this process may open; undefined where the system does not say: Linux does. */
export function descriptorLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+) /m.exec(readFileSync("/proc/self/limits", "latin1")) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** @param descriptors as `descriptorLimit` gives them */
export function connectionsWithin(descriptors: number | undefined): number {
  if (descriptors === undefined) return MOST_CONNECTIONS
  const least = Math.floor(descriptors / LEAST_PART)
  return Math.min(MOST_CONNECTIONS, Math.max(least, descriptors - OTHER_DESCRIPTORS))
}
