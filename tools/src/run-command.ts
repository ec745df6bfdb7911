/** Command lines of the project's own programs. */

class Misuse extends Error {}

/** A whole number of an option, of at least so much. A wrong one ends the command. */
export function wholeNumber(option: string, text: string, least = 0): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new Misuse(`--${option} is a whole number${least > 0 ? `, ${least} or more` : ""}.`)
}

/** Runs a program. A wrong command line ends it with a sentence, its usage and exit code 2. */
export async function runCommand(usage: string, main: () => Promise<void>): Promise<void> {
  try {
    await main()
  } catch (error) {
    if (!isMisuse(error)) throw error
    process.stderr.write(`${error.message}\n\n${usage}`)
    process.exitCode = 2
  }
}

/** Whether the command line is wrong: by `wholeNumber`, or by Node's `parseArgs`. */
const isMisuse = (error: unknown): error is Error =>
  error instanceof Misuse ||
  (error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_"))
