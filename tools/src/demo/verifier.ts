/** The real command-line verifier as a child process. */
import { execFile } from "node:child_process"
import { plainEnvironment } from "./service.ts"

export const VERIFIER = "apps/verifier-cli/bin/verifier.cjs"
const VERIFY_TIMEOUT_MS = 60_000

export type Verification = {
  readonly exit: number
  /** The last line of the output. */
  readonly verdict: string
  /** Name of the first check that failed. */
  readonly failed?: string
  readonly lines: readonly string[]
}

/** Runs `verifier` with the arguments. The user's own pinned keys stay out of it: the trust store is `trustFolder`. */
export function verify(root: string, trustFolder: string, args: readonly string[]): Promise<Verification> {
  const env = { ...plainEnvironment(), RUNSEAL_TRUST_DIR: trustFolder, NO_COLOR: "1" }
  const options = { cwd: root, env, timeout: VERIFY_TIMEOUT_MS }
  return new Promise(resolve => {
    const child = execFile(process.execPath, [VERIFIER, ...args], options, (_error, stdout, stderr) => {
      const lines = `${stdout}${stderr}`.trimEnd().split("\n")
      const failed = /^First failed check, (\w+):/m.exec(stdout)?.[1]
      const verdict = lines.at(-1) ?? ""
      resolve({ exit: child.exitCode ?? -1, verdict, lines, ...(failed === undefined ? {} : { failed }) })
    })
  })
}
