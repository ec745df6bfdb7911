/** The command in this process, on files of a folder of the tests, with the trust document of one deployment. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Deployment } from "../../../libs/core/test/fixtures/deployment.ts"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { commandLineAnswer } from "../src/command-line.ts"
import { InputError } from "../src/exit-answer.ts"
import { verifyCommand } from "../src/verify-command.ts"

export function commandsInFolder(name: string, { trustDocument }: Pick<Deployment, "trustDocument">) {
  const folder = testFolder(name)
  /** @returns the path of the file */
  const write = (file: string, value: unknown): string => {
    const path = join(folder, file)
    writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value))
    return path
  }
  const trust = write("trust.json", trustDocument)

  /** What the command prints, and its exit code. */
  async function verifier(...words: readonly string[]) {
    const style = { colour: false, ascii: false }
    let streamed = ""
    const answer = await commandLineAnswer([...words, "--trust", trust], style, verification =>
      verifyCommand(
        verification,
        () => folder,
        style,
        async text => {
          streamed += text
        },
      ),
    ).catch((error: unknown) => {
      if (error instanceof InputError) return { stdout: "", stderr: error.message, exit: 2 }
      throw error
    })
    return { ...answer, stdout: streamed + answer.stdout }
  }

  /** What `--json` says of a single document. */
  async function judged(document: unknown, ...options: readonly string[]) {
    const { stdout, exit } = await verifier(write("document.json", document), "--json", ...options)
    const { first_failure, expectations = [] } = JSON.parse(stdout)
    const [{ decided, message }] = expectations.length === 0 ? [{}] : expectations.slice(-1)
    return { exit, decided, message, first_failure }
  }
  return { folder, write, verifier, judged }
}
