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

type ErrorFacts = {
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
  const frames = framesOf(error)
  const code = "sqlstate" in error && error.sqlstate !== undefined ? error.sqlstate : "code" in error && error.code
  const places = frames.flatMap(placeIn).slice(0, MAX_PLACES)
  return {
    name: /^\w{1,64}$/.test(name) ? name : "Error",
    ...(OWN_ERRORS.has(name) || isOwn(error, frames) ? { message } : {}),
    ...(typeof code === "string" && /^\w{1,64}$/.test(code) ? { code } : {}),
    ...(places.length === 0 ? {} : { at: places }),
    ...(cause === undefined || depth === MAX_CAUSES ? {} : { cause: errorFacts(cause, depth + 1) }),
  }
}

/** The lines of a stack behind the message, which could hold lines that look like them. */
const framesOf = ({ stack = "", message }: Error): readonly string[] =>
  stack
    .slice(stack.indexOf(message) + message.length)
    .split("\n")
    .slice(1)

/** A frame of this service's own code, installed as a package or not. */
const OWN_FRAME = /^ +at .*\/(?:apps|libs|@runseal)\/([\w-]+)\/(?:src|dist)\/([\w./-]+):(\d+):\d+\)?$/

/** `<package>/<file>:<line>`, or nothing. */
const placeIn = (frame: string): readonly string[] => {
  const [, home, file, line] = OWN_FRAME.exec(frame) ?? []
  return home === undefined ? [] : [`${home}/${file}:${line}`]
}

/** Whether this service's code made the error: the runtime's have other names, the system's have codes, a library's begin in the library. */
const isOwn = (error: Error, [innermost = ""]: readonly string[]): boolean =>
  error.name === "Error" && !("code" in error) && placeIn(innermost).length > 0
