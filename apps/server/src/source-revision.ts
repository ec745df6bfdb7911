/** The commit that the running code was made from, which is sealed in every record. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"

const GIT_TIMEOUT_MS = 2000
const REVISION = /^[0-9a-f]{40}$/

/** The file of a package, which says `unknown` where it was made of no clean commit. A checkout has none. */
const PACKED = new URL("./source-revision.txt", import.meta.url)

/** 40 hex digits from RUNSEAL_SOURCE_REVISION, else from the package or from git; "unknown" when none has it. */
export function sourceRevision(): string {
  const revision = process.env.RUNSEAL_SOURCE_REVISION
  if (revision !== undefined && REVISION.test(revision)) return revision
  const text = fromPackage() ?? fromGit()
  return REVISION.test(text) ? text : "unknown"
}

/** Undefined in a checkout. A package does not ask git: it may be installed inside the repository of another project. */
function fromPackage(): string | undefined {
  try {
    return readFileSync(PACKED, "utf8").trim()
  } catch {
    return undefined
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
