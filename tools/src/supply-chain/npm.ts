/** The npm that runs us, or the one of the path. */
import { spawnSync } from "node:child_process"
import { ROOT } from "./lockfile.ts"

/** More than the list of all our packages takes. */
const MAX_OUTPUT_BYTES = 67_108_864

export type Said = { readonly stdout: string; readonly stderr: string; readonly status: number | null }

/** Runs npm in the root of the repository. */
export function npm(...words: readonly string[]): Said {
  const path = process.env.npm_execpath
  const [command, ...before] = path === undefined ? ["npm"] : [process.execPath, path]
  const { stdout, stderr, status } = spawnSync(command ?? "npm", [...before, ...words], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: MAX_OUTPUT_BYTES,
  })
  return { stdout, stderr, status }
}
