/** The commit that the running code was made from, which is sealed in every record. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"

const GIT_TIMEOUT_MS = 2000
const REVISION = /^[0-9a-f]{40}$/

/** The file of a package that was made from a clean commit. A checkout has none. */
const PACKED = new URL("./source-revision.txt", import.meta.url)

/** 40 hex digits from RUNSEAL_SOURCE_REVISION, else from the package or from git; "unknown" when none has it. */
export function sourceRevision(): string {
  const revision = process.env.RUNSEAL_SOURCE_REVISION
  if (revision !== undefined && REVISION.test(revision)) return revision
  const text = import.meta.filename.endsWith(".ts") ? fromGit() : fromPackage()
  return REVISION.test(text) ? text : "unknown"
}

/** A package does not ask git: it may be installed inside the repository of another project. */
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
