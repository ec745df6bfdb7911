/** Which commit a package is made of. */
import { spawnSync } from "node:child_process"
import { ROOT } from "../supply-chain/lockfile.ts"

const git = (...words: readonly string[]): string | undefined => {
  const { stdout, status } = spawnSync("git", words, { cwd: ROOT, encoding: "utf8" })
  return status === 0 ? stdout.trim() : undefined
}

/**
 * 40 hex digits from RUNSEAL_SOURCE_REVISION, else of the commit that is checked out; undefined when files differ from it: what
 * is made of them is no commit's.
 */
export function sourceRevision(): string | undefined {
  const revision =
    process.env.RUNSEAL_SOURCE_REVISION ?? (git("status", "--porcelain") === "" ? git("rev-parse", "HEAD") : "")
  return /^[0-9a-f]{40}$/.test(revision ?? "") ? revision : undefined
}
