/** A copy of the checkout in the temporary folder, for changes that the checkout must never have. */
import { cpSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { repositoryPaths } from "../../../tools/src/rooms/repository-files.ts"

/** Folder of our own packages: their links lead into the checkout that holds them. */
const OWN = "@runseal"

export type CheckoutCopy = {
  readonly folder: string
  readonly remove: () => void
}

/** Copies what is or could be committed. Packages of others are linked, those of the workspace are the copy's own. */
export function copyCheckout(root: string): CheckoutCopy {
  const folder = mkdtempSync(join(tmpdir(), "runseal-seeded-"))
  for (const path of repositoryPaths(root)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    cpSync(join(root, path), join(folder, path))
  }
  linkPackages(join(root, "node_modules"), join(folder, "node_modules"))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

function linkPackages(from: string, to: string): void {
  mkdirSync(join(to, OWN), { recursive: true })
  for (const name of readdirSync(join(from, OWN))) {
    const link = join(from, OWN, name)
    if (lstatSync(link).isSymbolicLink()) symlinkSync(readlinkSync(link), join(to, OWN, name))
  }
  // Of the names with a dot only the programs: the others are caches, which tests write.
  for (const name of readdirSync(from))
    if (name !== OWN && (name === ".bin" || !name.startsWith("."))) symlinkSync(join(from, name), join(to, name))
}
