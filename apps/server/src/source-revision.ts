/** The commit this source is at, as far as it can be told. */
import { execFileSync } from "node:child_process"

const GIT_TIMEOUT_MS = 2000

/** 40 hex digits from RUNSEAL_SOURCE_REVISION or git; "unknown" when neither says. */
export function sourceRevision(): string {
  const stated = process.env.RUNSEAL_SOURCE_REVISION
  if (stated !== undefined && /^[0-9a-f]{40}$/.test(stated)) return stated
  try {
    const text = execFileSync("git", ["rev-parse", "HEAD"], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "pipe", "ignore"],
      timeout: GIT_TIMEOUT_MS,
    })
      .toString()
      .trim()
    return /^[0-9a-f]{40}$/.test(text) ? text : "unknown"
  } catch {
    return "unknown"
  }
}
