/** The published package.json: members of the workspace's own, and members that only a package has. */
import { isOwn, type Manifest, type Targets, type Workspace } from "./workspaces.ts"

export type PublishedManifest = Readonly<Record<string, unknown>> & {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Members that differ from the workspace's manifest, which names sources. */
export type Additions = {
  readonly imports?: Targets
  /** Exact versions. Absent: the package depends on nothing. */
  readonly dependencies?: Readonly<Record<string, string>>
}

/** No scripts, no development dependencies, and nothing that concerns the workspace alone. */
export function publishedManifest(manifest: Manifest, { imports, dependencies }: Additions): PublishedManifest {
  const { name, version, description, license, type, sideEffects, engines, bin, publishConfig } = manifest
  const { peerDependencies, peerDependenciesMeta } = manifest
  return {
    name,
    version,
    description,
    license,
    type,
    ...(sideEffects === undefined ? {} : { sideEffects }),
    engines,
    ...(bin === undefined ? {} : { bin }),
    ...(publishConfig?.exports === undefined ? {} : { exports: publishConfig.exports }),
    ...(imports === undefined || Object.keys(imports).length === 0 ? {} : { imports }),
    ...(dependencies === undefined ? {} : { dependencies }),
    ...(peerDependencies === undefined ? {} : { peerDependencies, peerDependenciesMeta }),
  }
}

/**
 * The third-party dependencies of the workspaces of one package, in one version each, sorted.
 * @param shipped packages whose files are packed with ours
 * @throws Error when the workspaces ask for two versions
 */
export function foreignDependencies(
  workspaces: readonly Workspace[],
  shipped: readonly string[] = [],
): Readonly<Record<string, string>> {
  const versions = new Map<string, string>()
  for (const { manifest } of workspaces)
    for (const [name, version] of Object.entries(manifest.dependencies ?? {})) {
      if (isOwn(name) || shipped.includes(name)) continue
      if ((versions.get(name) ?? version) !== version) throw new Error(`${name} is required in two versions.`)
      versions.set(name, version)
    }
  return Object.fromEntries([...versions].sort(([a], [b]) => (a < b ? -1 : 1)))
}
