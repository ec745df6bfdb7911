/** Runs npm: the one that started this process, or the one on the PATH. */
import { spawnSync } from "node:child_process"
import { ROOT } from "./lockfile.ts"

/** Larger than the list of all our packages. */
const MAX_OUTPUT_BYTES = 67_108_864

export type NpmOutcome = { readonly stdout: string; readonly stderr: string; readonly status: number | null }

/** Runs npm in the root of the repository. */
export function npm(...words: readonly string[]): NpmOutcome {
  const path = process.env.npm_execpath
  const [command, ...before] = path === undefined ? ["npm"] : [process.execPath, path]
  const { stdout, stderr, status } = spawnSync(command ?? "npm", [...before, ...words], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: MAX_OUTPUT_BYTES,
  })
  return { stdout, stderr, status }
}
