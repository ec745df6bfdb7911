/** The packages that package-lock.json lists. It decides what is installed: installs are `npm ci`. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const ROOT: string = fileURLToPath(new URL("../../..", import.meta.url))

/** An entry of `packages`, with the members that are read here. */
export type LockedPackage = {
  readonly name?: string
  readonly version?: string
  readonly license?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: true
  readonly dev?: true
  readonly hasInstallScript?: true
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}
/** By place, such as `node_modules/pino`; a workspace's place is its folder. */
export type Lockfile = Readonly<Record<string, LockedPackage>>

export function readLockfile(): Lockfile {
  const { packages }: { readonly packages: Lockfile } = JSON.parse(
    readFileSync(join(ROOT, "package-lock.json"), "utf8"),
  )
  return packages
}

export const isInstalled = (place: string): boolean => place.includes("node_modules/")

/** The name under which the package at a place is imported. */
export const nameAt = (place: string): string =>
  place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length)

/** The place of a package's dependency: beside it, or in a folder above. */
function placeFor(lockfile: Lockfile, from: string, name: string): string | undefined {
  for (let base = from; ; base = base.includes("/") ? base.slice(0, base.lastIndexOf("/")) : "") {
    const place = base === "" ? `node_modules/${name}` : `${base}/node_modules/${name}`
    if (place in lockfile) return place
    if (base === "") return undefined
  }
}

/** Packages whose files are packed with ours; their own dependencies are not installed. */
export const SHIPPED_FILES_OF: readonly string[] = [
  "@fontsource/ibm-plex-mono",
  "@fontsource/ibm-plex-sans",
  "drizzle-orm",
  "swagger-ui-dist",
]

/**
 * Places of a workspace's runtime dependencies, the workspace itself first.
 * @param shipped packages whose dependencies are ignored
 */
export function runtimePlaces(
  lockfile: Lockfile,
  workspace: string,
  shipped: readonly string[] = SHIPPED_FILES_OF,
): readonly string[] {
  const seen = new Set([workspace])
  for (const place of seen) {
    if (shipped.includes(nameAt(place))) continue
    const { dependencies = {}, optionalDependencies = {} } = lockfile[place] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const found = placeFor(lockfile, place, name)
      if (found === undefined) continue
      const { link, resolved } = lockfile[found] ?? {}
      seen.add(link === true && resolved !== undefined ? resolved : found)
    }
  }
  return [...seen]
}

/** Names of the third-party packages among them, sorted. */
export const runtimePackages = (lockfile: Lockfile, workspace: string): readonly string[] =>
  [...new Set(runtimePlaces(lockfile, workspace).filter(isInstalled).map(nameAt))].sort()
