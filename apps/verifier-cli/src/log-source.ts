/** Where an audited log is read from: a service's address, or a folder that holds a copy with the same paths. */
import { join } from "node:path"
import { InputError } from "./exit-answer.ts"
import { isAddress, parseAddress, type ReadLimits, readFile, readInput } from "./read-input.ts"

/** Where a service serves its log. */
const LOG_PATH = "/log/"

export type LogSource = {
  /** The argument of the command line. */
  readonly name: string
  /** Set: read from the service itself. Absent: a copy of unknown age. */
  readonly live?: true
  /** The bytes behind a path of the log, such as `checkpoint` or `tile/0/000`. Rejects with InputError. */
  readonly read: (path: string, limits: ReadLimits) => Promise<Uint8Array>
}

/** Reads of a log that are under way at one time, so that an audit is no burden to its server. */
const MAX_READS = 4

/** The same log; a read beyond `MAX_READS` waits until an earlier one has ended. */
export function fewAtOnce(source: LogSource): LogSource {
  let free = MAX_READS
  const waiting: (() => void)[] = []
  const read: LogSource["read"] = async (path, limits) => {
    if (free > 0) free--
    else await new Promise<void>(start => waiting.push(start))
    try {
      return await source.read(path, limits)
    } finally {
      const start = waiting.shift()
      if (start === undefined) free++
      else start()
    }
  }
  return { ...source, read }
}

/** The log at an address (a bare `https://host` means its `/log/`) or in a folder; nothing is read yet. Throws InputError. */
export function createLogSource(argument: string): LogSource {
  if (!isAddress(argument)) {
    if (argument === "-") throw new InputError("A log is an address or a folder, not standard input.")
    return { name: argument, read: (path, limits) => readFile(join(argument, path), limits) }
  }
  const url = parseAddress(argument)
  if (url.search !== "" || url.hash !== "") throw new InputError("The address of a log has no ? and no #.")
  const base = new URL(url.pathname === "/" ? LOG_PATH : `${url.pathname.replace(/\/+$/, "")}/`, url)
  return { name: argument, live: true, read: (path, limits) => readInput(new URL(path, base).href, limits) }
}
