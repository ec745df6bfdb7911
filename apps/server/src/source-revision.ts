/** The commit this source is at, as far as it can be told. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"

const GIT_TIMEOUT_MS = 2000
const REVISION = /^[0-9a-f]{40}$/

/** Written when a package is made of a clean commit. A checkout has none. */
const PACKED = new URL("./source-revision.txt", import.meta.url)

/** 40 hex digits from RUNSEAL_SOURCE_REVISION, else the package or git; "unknown" when neither says. */
export function sourceRevision(): string {
  const stated = process.env.RUNSEAL_SOURCE_REVISION
  if (stated !== undefined && REVISION.test(stated)) return stated
  const text = import.meta.filename.endsWith(".ts") ? fromGit() : fromPackage()
  return REVISION.test(text) ? text : "unknown"
}

/** A package asks no git: the repository it is installed in is somebody else's. */
function fromPackage(): string {
  try {
    return readFileSync(PACKED, "utf8").trim()
  } catch {
    return ""
  }
}

function fromGit(): string {
  try {
    return execFileSync("git", ["rev-parse", "HEAD"], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "pipe", "ignore"],
      timeout: GIT_TIMEOUT_MS,
    })
      .toString()
      .trim()
  } catch {
    return ""
  }
}
