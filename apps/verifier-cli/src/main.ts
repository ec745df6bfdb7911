/** The command `verifier`. The only place that writes to the terminal and sets the exit code. */
import { type Answer, InputError, refused } from "./exit-answer.ts"
import type { Style } from "./print.ts"
import { errorCode } from "./read-input.ts"
import { trustFolder } from "./trust-store.ts"
import { verifyCommand } from "./verify-command.ts"
import { plainVerification, type Verification } from "./verify-words.ts"

function styleFor(argv: readonly string[]): Style {
  const { NO_COLOR: noColour = "", TERM: terminal } = process.env
  const colour = process.stdout.isTTY === true && noColour === "" && terminal !== "dumb"
  return { colour, ascii: argv.includes("--ascii") }
}

/** Writes to standard output. A write that fails ends the process, in the `error` listener below. */
const writeOut = (text: string): Promise<void> =>
  new Promise(written => {
    process.stdout.write(text, error => {
      if (!error) written()
    })
  })

async function answerTo(argv: readonly string[]): Promise<Answer> {
  const style = styleFor(argv)
  const verify = (verification: Verification): Promise<Answer> =>
    verifyCommand(verification, () => trustFolder(process.env), style, writeOut)
  try {
    const plain = plainVerification(argv)
    if (plain !== undefined) return await verify(plain)
    const { commandLineAnswer } = await import("./command-line.ts")
    return await commandLineAnswer(argv, style, verify)
  } catch (error) {
    if (error instanceof InputError) return refused(error.message, style)
    throw error
  }
}

/** A bug of the verifier: nothing counts as verified. */
function fail(error: unknown): never {
  const name = error instanceof Error ? error.name : "unknown"
  process.stderr.write(`verifier: internal error (${name}): nothing was verified; please report it.\n`)
  process.exit(2)
}

// If the process ends before the answer is written, its exit code is not 0.
process.exitCode = 2
process.on("uncaughtException", fail)
process.on("unhandledRejection", fail)
process.stdout.on("error", error => {
  process.stderr.write(`verifier: the answer could not be written (${errorCode(error) ?? "unknown"}).\n`)
  process.exit(2)
})

answerTo(process.argv.slice(2)).then(({ stdout, stderr, exit }) => {
  if (stderr !== "") process.stderr.write(stderr)
  process.stdout.write(stdout, error => {
    if (error) return
    process.exitCode = exit
    // Without output on standard error nothing is pending. Leaving now saves the milliseconds that Node takes to clean up.
    if (stderr === "" && exit !== 2) process.exit()
  })
}, fail)
