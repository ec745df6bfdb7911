/** How a command ends: its output and its exit code, or what it throws for input that it cannot use. */
import { type Line, printLines, type Style } from "./print.ts"

/** 0: verified, or done. 1: not verified, or refused. 2: unreadable input, wrong usage, or a bug of the verifier. */
export type ExitCode = 0 | 1 | 2
export type Answer = { readonly stdout: string; readonly stderr: string; readonly exit: ExitCode }

/** Lines on standard output. */
export const printed = (lines: readonly Line[], style: Style, exit: ExitCode = 0): Answer => ({
  stdout: printLines(lines, style),
  stderr: "",
  exit,
})

/** One sentence on standard error, without colours. */
export const refused = (sentence: string, { ascii }: Style, exit: ExitCode = 2): Answer => ({
  stdout: "",
  stderr: printLines([[`verifier: ${sentence}`]], { ascii, colour: false }),
  exit,
})

/** Something could not be read or is not what it must be; the message is one clear sentence for the user (exit 2). */
export class InputError extends Error {
  override readonly name = "InputError"
}

/** There is no such file, or the server says that there is none: no trouble of reading it. */
export class MissingInput extends InputError {}
