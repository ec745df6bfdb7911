/** Another commit of this repository, checked out and built as this one is, to be measured in turn with it. */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ROOT } from "../../../../tools/src/demo/server-process.ts"

export type OtherCommit = {
  /** As it was named. */
  readonly name: string
  /** Absolute path of its folder. */
  readonly root: string
  readonly remove: () => void
}

/** @param revision anything that git takes for a commit. @throws Error when there is no such commit, or it does not build */
export function checkOut(revision: string): OtherCommit {
  const git = (...words: readonly string[]): string =>
    execFileSync("git", words, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()
  const commit = git("rev-parse", "--verify", "--end-of-options", `${revision}^{commit}`)
  const place = mkdtempSync(join(tmpdir(), "runseal-commit-"))
  const root = join(place, "runseal")
  git("clone", "--quiet", "--shared", "--no-checkout", ROOT, root)
  git("-C", root, "checkout", "--quiet", "--detach", commit)
  const run = (...words: readonly string[]): Buffer =>
    execFileSync("npm", words, { cwd: root, stdio: ["ignore", "ignore", "inherit"] })
  if (hasSamePackages(root)) {
    linkPackages(root)
    run("run", "--silent", "prepare")
  } else run("ci", "--no-audit", "--no-fund")
  return { name: revision, root, remove: () => rmSync(place, { recursive: true, force: true }) }
}

const hasSamePackages = (root: string): boolean =>
  readFileSync(join(root, "package-lock.json")).equals(readFileSync(join(ROOT, "package-lock.json")))

/** The packages of others as they are installed here, and the workspaces of that commit. */
function linkPackages(root: string): void {
  const [here, there] = [ROOT, root].map(folder => join(folder, "node_modules"))
  if (here === undefined || there === undefined) return
  mkdirSync(there)
  for (const name of readdirSync(here)) if (name !== "@runseal") symlinkSync(join(here, name), join(there, name))
  // npm links them by paths that lead out of the folder.
  execFileSync("cp", ["-R", "-P", join(here, "@runseal"), there])
}
