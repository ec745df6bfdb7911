import { createInterface } from "node:readline"
import { InputError, refused } from "../src/exit-answer.ts"
import type { Style } from "../src/print.ts"
import { verifyCommand } from "../src/verify-command.ts"
import { plainVerification } from "../src/verify-words.ts"

/**
 * Answers many calls of `verifier` in one process: `node answer-each.ts < CALLS`. A line of the input is a JSON array of arguments, and a
 * line of the output is the exit code, a tab, and the JSON of what the call printed.
 */
const STYLE: Style = { colour: false, ascii: false }

for await (const line of createInterface({ input: process.stdin })) {
  const verification = plainVerification(JSON.parse(line))
  if (verification === undefined) throw new Error("These arguments are for the command itself.")
  let printed = ""
  const write = async (text: string): Promise<void> => {
    printed += text
  }
  const answer = await verifyCommand(verification, () => "", STYLE, write).catch((error: unknown) => {
    if (error instanceof InputError) return refused(error.message, STYLE)
    throw error
  })
  process.stdout.write(`${answer.exit}\t${JSON.stringify(printed + answer.stdout)}\n`)
}
