/** The process log, JSON lines on standard output, and what an error says in it: decision 0121. */
import { type DestinationStream, type Logger, pino } from "pino"

/** @param destination where the lines go; absent: standard output */
export const createLogger = (level: string, destination?: DestinationStream): Logger => {
  const options = { level, serializers: { err: (error: unknown) => errorFacts(error) } }
  return destination === undefined ? pino(options) : pino(options, destination)
}

/** Errors whose messages are sentences of this service. What a library or the runtime says may quote a statement or an input. */
const OWN_ERRORS: ReadonlySet<string> = new Set([
  ...["CanonicalizeError", "HttpError", "JobError", "PolicyError", "ReviewFailure", "SignerFailure"],
  ...["StageFailure", "StartupError", "StoreError", "StrictJsonError"],
])
/** Places of one error, and errors that caused it, in a line. */
const MAX_PLACES = 4
const MAX_CAUSES = 3

export type ErrorFacts = {
  readonly name: string
  readonly message?: string
  /** Of the system, the runtime or the database: `ENOSPC`, `ERR_INVALID_ARG_TYPE`, `23505`. */
  readonly code?: string
  /** Where it was thrown, and how one came there: files of this service and lines in them, innermost first. */
  readonly at?: readonly string[]
  readonly cause?: ErrorFacts
}

/** What an operator needs to find a fault, and nothing that a request, a statement or a library said. */
export function errorFacts(error: unknown, depth = 0): ErrorFacts {
  if (!(error instanceof Error)) return { name: typeof error }
  const { name, message, cause } = error
  const code = "sqlstate" in error && error.sqlstate !== undefined ? error.sqlstate : "code" in error && error.code
  const places = placesIn(error)
  return {
    name: /^\w{1,64}$/.test(name) ? name : "Error",
    ...(OWN_ERRORS.has(name) ? { message } : {}),
    ...(typeof code === "string" && /^\w{1,64}$/.test(code) ? { code } : {}),
    ...(places.length === 0 ? {} : { at: places }),
    ...(cause === undefined || depth === MAX_CAUSES ? {} : { cause: errorFacts(cause, depth + 1) }),
  }
}

/** A frame of this service's own code, installed as a package or not. */
const FRAME = /^ +at .*\/(?:apps|libs|@runseal)\/([\w-]+)\/(?:src|dist)\/([\w./-]+):(\d+):\d+\)?$/

/** @returns `<package>/<file>:<line>` */
function placesIn({ stack = "", message }: Error): readonly string[] {
  // The message comes first, and could hold lines that look like frames.
  const frames = stack.slice(stack.indexOf(message) + message.length).split("\n")
  const own = frames.map(line => FRAME.exec(line)).filter(found => found !== null)
  return own.slice(0, MAX_PLACES).map(([, home, file, line]) => `${home}/${file}:${line}`)
}
