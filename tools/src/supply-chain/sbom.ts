/**
 * `npm run sbom`: writes a software bill of materials for each package that is published, CycloneDX 1.5 as `npm sbom` makes it of
 * the lock file. Without the time and the random serial number, so that one lock file gives one document.
 *
 *   node tools/src/supply-chain/sbom.ts [folder]
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { isInstalled, type LockedPackage, nameAt, readLockfile, runtimePlaces } from "./lockfile.ts"
import { npm } from "./npm.ts"

/** What is published, and the name of its document. */
export const PUBLISHED: readonly (readonly [name: string, file: string])[] = [
  ["@runseal/verifier", "verifier.cdx.json"],
  ["@runseal/sdk", "sdk.cdx.json"],
  ["@runseal/permit", "permit.cdx.json"],
  ["@runseal/log", "log.cdx.json"],
  ["@runseal/core", "core.cdx.json"],
  ["@runseal/server", "server.cdx.json"],
  ["@runseal/mcp", "mcp.cdx.json"],
  ["@runseal/agents", "agents.cdx.json"],
  ["@runseal/hooks", "hooks.cdx.json"],
]

type Component = {
  readonly "bom-ref": string
  readonly purl: string
  readonly name: string
  readonly version: string
  readonly licenses?: readonly object[]
}
type Dependency = { readonly ref: string; readonly dependsOn: readonly string[] }
type Made = {
  readonly bomFormat: string
  readonly specVersion: string
  readonly version: number
  readonly metadata: { readonly tools: readonly unknown[]; readonly lifecycles: readonly unknown[] }
  readonly components: readonly Component[]
  readonly dependencies: readonly Dependency[]
}
export type Sbom = Omit<Made, "metadata"> & { readonly metadata: Made["metadata"] & { readonly component: Component } }

/** Takes a package's name from its purl, since npm names a workspace after its folder; adds a licence that has no SPDX name. */
const completed = (component: Component, { license }: LockedPackage): Component => ({
  ...component,
  name: decodeURIComponent(/^pkg:npm\/(.+)@/.exec(component.purl)?.[1] ?? component.name),
  ...(component.licenses === undefined ? { licenses: [{ license: { name: license } }] } : {}),
})

/**
 * The components of a published package, without build and test dependencies. They are selected here: `npm sbom --omit dev` also
 * leaves out a runtime dependency that a build dependency needs as well.
 * @throws Error with npm's output
 */
export function sbomOf(name: string): Sbom {
  const { stdout, stderr, status } = npm("sbom", "--package-lock-only", "--sbom-format", "cyclonedx", "-w", name)
  if (status !== 0) throw new Error(`npm sbom failed for ${name}: ${stderr}`)
  const { bomFormat, specVersion, version, metadata, components, dependencies }: Made = JSON.parse(stdout)
  const refs = runtimeRefs(name)
  const all = components.flatMap(one => {
    const locked = refs.get(one["bom-ref"])
    return locked === undefined ? [] : [completed(one, locked)]
  })
  const component = all.find(one => one.name === name)
  const unknown = [...refs.keys()].filter(ref => !all.some(one => one["bom-ref"] === ref))
  if (component === undefined || unknown.length > 0) throw new Error(`npm sbom lacks parts of ${name}: ${unknown}`)
  const { tools, lifecycles } = metadata
  return {
    bomFormat,
    specVersion,
    version,
    metadata: { lifecycles, tools, component },
    components: all.filter(one => one !== component),
    dependencies: dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(one => refs.has(one)) })),
  }
}

/** A package and its runtime dependencies, by `name@version`, npm's reference. */
function runtimeRefs(name: string): ReadonlyMap<string, LockedPackage> {
  const lockfile = readLockfile()
  const workspace = Object.keys(lockfile).find(place => lockfile[place]?.name === name && !isInstalled(place)) ?? ""
  return new Map(
    runtimePlaces(lockfile, workspace).map(place => {
      const locked = lockfile[place] ?? {}
      return [`${isInstalled(place) ? nameAt(place) : locked.name}@${locked.version}`, locked]
    }),
  )
}

function main(words: readonly string[]): void {
  if (words.length > 1 || words[0]?.startsWith("-")) {
    process.stderr.write("sbom: nothing but one folder is accepted\n")
    process.exitCode = 1
    return
  }
  const folder = resolve(words[0] ?? "dist/sbom")
  mkdirSync(folder, { recursive: true })
  for (const [name, file] of PUBLISHED) {
    const sbom = sbomOf(name)
    writeFileSync(join(folder, file), `${JSON.stringify(sbom, null, 2)}\n`)
    process.stdout.write(`${join(folder, file)}: ${name} of ${sbom.components.length} packages\n`)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main(process.argv.slice(2))
