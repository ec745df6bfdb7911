/** The workspaces as their manifests describe them. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ROOT, readLockfile } from "../supply-chain/lockfile.ts"

/** What `exports` and `imports` lead to: a path of the package, one for each condition, or nothing. */
export type Target = string | null | { readonly [condition: string]: Target }
export type Targets = Readonly<Record<string, Target>>

/** What is read of a workspace's package.json. */
export type Manifest = {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly type: string
  readonly sideEffects?: boolean
  readonly engines: Readonly<Record<string, string>>
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Targets
  readonly imports?: Targets
  readonly dependencies?: Readonly<Record<string, string>>
  /** The frameworks that a program brings along, and which of them it may lack. */
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly publishConfig?: { readonly exports?: Targets }
}

/** A workspace: its folder, as `libs/core`, and its manifest. */
export type Workspace = { readonly folder: string; readonly manifest: Manifest }

const OWN_SCOPE = "@runseal/"
export const isOwn = (name: string): boolean => name.startsWith(OWN_SCOPE)

/** @throws Error when there is no such folder */
export function readWorkspace(folder: string): Workspace {
  return { folder, manifest: JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8")) }
}

/**
 * A workspace and those it depends on, itself first.
 * @param published names of those that are packages of their own beside it, and are left out
 */
export function withDependencies(folder: string, published: readonly string[] = []): readonly Workspace[] {
  const folders = new Map(Object.entries(readLockfile()).map(([path, { name }]) => [name, path]))
  const found = new Map([[folder, readWorkspace(folder)]])
  for (const { manifest } of found.values())
    for (const name of Object.keys(manifest.dependencies ?? {}).filter(own => isOwn(own) && !published.includes(own))) {
      const place = folders.get(name)
      if (place === undefined) throw new Error(`${manifest.name} depends on ${name}, which is no workspace.`)
      if (!found.has(place)) found.set(place, readWorkspace(place))
    }
  return [...found.values()]
}

/** Every path that a target may lead to, whatever the conditions. */
export function pathsOf(target: Target): readonly string[] {
  if (target === null) return []
  return typeof target === "string" ? [target] : Object.values(target).flatMap(pathsOf)
}

/** The path that a target leads to under conditions, which are tried in the target's own order, as Node does. */
export function pathUnder(target: Target, conditions: ReadonlySet<string>): string | undefined {
  if (target === null || typeof target === "string") return target ?? undefined
  for (const [condition, next] of Object.entries(target)) {
    const path = condition === "default" || conditions.has(condition) ? pathUnder(next, conditions) : undefined
    if (path !== undefined) return path
  }
  return undefined
}
