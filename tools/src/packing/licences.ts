/** The licences of packages whose code is in a built file: they ask that their text comes with it. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { ROOT, readLockfile, runtimePackages } from "../supply-chain/lockfile.ts"

/** Name, version and licence text of everything that a workspace runs with. */
export const licencesOf = (workspace: string): string =>
  runtimePackages(readLockfile(), workspace).map(licenceOf).join("\n\n")

/** The same of one installed package. @throws Error when it has no licence file */
export function licenceOf(name: string): string {
  const folder = join(ROOT, "node_modules", name)
  const files = readdirSync(folder).filter(entry => /^(?:licen[cs]e|notice)(?:\.|$)/i.test(entry))
  if (files.length === 0) throw new Error(`${name} is bundled and has no licence file.`)
  const texts = files.map(file => readFileSync(join(folder, file), "utf8"))
  return [`${name} ${readLockfile()[`node_modules/${name}`]?.version}`, ...texts].join("\n\n")
}
