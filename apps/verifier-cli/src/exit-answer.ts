/** The output of a command and its exit code. */
import type { Line, Style } from "./print.ts"
import { printLines } from "./print.ts"

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
