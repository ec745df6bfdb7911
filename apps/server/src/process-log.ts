/** The process log: JSON lines on standard output. Which parts of an error are logged: decision 0121. */
import { type DestinationStream, type Logger, pino } from "pino"

/** @param destination where the lines go; absent: standard output */
export const createLogger = (level: string, destination?: DestinationStream): Logger => {
  const options = { level, serializers: { err: (error: unknown) => errorFacts(error) } }
  return destination === undefined ? pino(options) : pino(options, destination)
}

/** Errors whose messages are sentences of this service. The message of a library or the runtime may quote SQL or an input. */
const OWN_ERRORS: ReadonlySet<string> = new Set([
  ...["CanonicalizeError", "HttpError", "JobError", "PolicyError", "ProviderUnavailable"],
  ...["ReviewFailure", "SignInRefused", "SignerFailure"],
  ...["StageFailure", "StartupError", "StoreError", "StrictJsonError"],
])
/** Stack places and causes of one error that a line holds at most. */
const MAX_PLACES = 4
const MAX_CAUSES = 3

type ErrorFacts = {
  readonly name: string
  readonly message?: string
  /** Of the system, the runtime or the database: `ENOSPC`, `ERR_INVALID_ARG_TYPE`, `23505`. */
  readonly code?: string
  /** The stack, innermost first, as files and lines of this service. */
  readonly at?: readonly string[]
  readonly cause?: ErrorFacts
}

/** The facts with which an operator finds a fault. No text of a request, of SQL or of a library is among them. */
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

/** The frames of a stack. The message is cut off first, because it could hold lines that look like frames. */
const framesOf = ({ stack = "", message }: Error): readonly string[] =>
  stack
    .slice(stack.indexOf(message) + message.length)
    .split("\n")
    .slice(1)

/** A frame of this service's own code, installed as a package or not, and not of the library that is bundled with it. */
const OWN_FRAME =
  /^ +at .*\/(?:apps|libs|@runseal)\/([\w-]+)\/(?:src|dist)\/(?!bundle\/drizzle-orm\/)([\w./-]+):(\d+):\d+\)?$/

/** The folder of this package by whatever name, such as `/app` in the image. */
const [, HERE = ""] = /^(.*)\/(?:src|dist)\//.exec(import.meta.url) ?? []

/** `<package>/<file>:<line>`, or nothing. */
const placeIn = (frame: string): readonly string[] => {
  const [, home, file, line] = OWN_FRAME.exec(frame.replace(`${HERE}/`, "/apps/server/")) ?? []
  return home === undefined ? [] : [`${home}/${file}:${line}`]
}

/** Whether this service's code threw the error. Errors of the runtime have other names, those of the system have codes, and the stack of a library's begins in the library. */
const isOwn = (error: Error, [innermost = ""]: readonly string[]): boolean =>
  error.name === "Error" && !("code" in error) && placeIn(innermost).length > 0
