/** The files of a package besides its code: manifest, readme, licences; and the commit that it is built from. */
import { spawnSync } from "node:child_process"
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { ROOT, readLockfile, runtimePackages } from "../supply-chain/lockfile.ts"
import type { PublishedManifest } from "./published-manifest.ts"

/** @param readme from the root */
export function writePapers(folder: string, manifest: PublishedManifest, readme: string, licences?: string): void {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
  writeFileSync(join(folder, "README.md"), withoutPages(readFileSync(join(ROOT, readme), "utf8")))
  copyFileSync(join(ROOT, "LICENSE"), join(folder, "LICENSE"))
  if (licences !== undefined) writeFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), licences)
}

/** The text without links to other pages, which a package does not contain. */
const withoutPages = (text: string): string => text.replace(/\[([^\]]+)\]\((?!https?:|#)[^)\s]*\)/g, "$1")

/** Name, version and licence text of every runtime dependency of a workspace, as the licences of bundled code require. */
export const licencesOf = (workspace: string): string =>
  runtimePackages(readLockfile(), workspace).map(licenceOf).join("\n\n")

/** The licence of this project, whose text is in every package. */
const OWN_LICENCE = "Apache-2.0"

/** The same for one installed package. @throws Error when it has no licence file and another licence than this project */
export function licenceOf(name: string): string {
  const folder = join(ROOT, "node_modules", name)
  const { version, license } = readLockfile()[`node_modules/${name}`] ?? {}
  const files = readdirSync(folder).filter(entry => /^(?:licen[cs]e|notice)(?:\.|$)/i.test(entry))
  if (files.length === 0 && license !== OWN_LICENCE) throw new Error(`${name} is bundled and has no licence file.`)
  const texts = files.map(file => readFileSync(join(folder, file), "utf8"))
  const words = texts.length > 0 ? texts : [`${OWN_LICENCE}. Its text is in the file LICENSE.`]
  return [`${name} ${version}`, ...words].join("\n\n")
}

const git = (...words: readonly string[]): string | undefined => {
  const { stdout, status } = spawnSync("git", words, { cwd: ROOT, encoding: "utf8" })
  return status === 0 ? stdout.trim() : undefined
}

/**
 * 40 hex digits from RUNSEAL_SOURCE_REVISION, else of the commit that is checked out; undefined when files differ from it, since
 * the package would then be of no commit.
 */
export function sourceRevision(): string | undefined {
  const revision =
    process.env.RUNSEAL_SOURCE_REVISION ?? (git("status", "--porcelain") === "" ? git("rev-parse", "HEAD") : "")
  return /^[0-9a-f]{40}$/.test(revision ?? "") ? revision : undefined
}
