/** The packages, each as a folder that npm packs unchanged. */
import { execFileSync, spawnSync } from "node:child_process"
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { ASSET_NAMES } from "@runseal/console/assets/asset-names"
import { SWAGGER_UI_FILES } from "@runseal/server/http/discovery/docs-page"
import { readOrMakeTemplate } from "@runseal/server/store/driver/database"
import { ROOT, readLockfile, runtimePackages, SHIPPED_FILES_OF } from "../supply-chain/lockfile.ts"
import { npm } from "../supply-chain/npm.ts"
import { bundleServer } from "./bundle-server.ts"
import {
  type Modules,
  mergedImports,
  placeInPackage,
  relativeTo,
  SHIPPED,
  writeFiles,
  writeModules,
} from "./modules.ts"
import { foreignDependencies, type PublishedManifest, publishedManifest } from "./published-manifest.ts"
import { readWorkspace, type Targets, type Workspace, withDependencies } from "./workspaces.ts"

const VERIFIER = "apps/verifier-cli"
const SDK = "libs/sdk"
const PERMIT = "libs/permit"
const LOG = "libs/log"
const CORE = "libs/core"
const SERVER = "apps/server"
const PAGE = "apps/verify-page"
const MCP = "apps/mcp"
const AGENTS = "apps/agents"
const HOOKS = "apps/hooks"
const CONSOLE = "apps/console"

/** The published workspaces, and how the folder of each is built. */
export const STAGES: readonly {
  readonly workspace: string
  readonly stage: (folder: string) => void | Promise<void>
}[] = [
  { workspace: VERIFIER, stage: stageVerifier },
  { workspace: SDK, stage: stageSdk },
  { workspace: PERMIT, stage: folder => stageModules(folder, PERMIT, { declarations: true }) },
  { workspace: LOG, stage: folder => stageModules(folder, LOG, { declarations: true }) },
  { workspace: CORE, stage: folder => stageModules(folder, CORE, { declarations: true }) },
  { workspace: SERVER, stage: stageServer },
  { workspace: MCP, stage: stageMcp },
  { workspace: AGENTS, stage: stageAgents },
  { workspace: HOOKS, stage: stageHooks },
]

/** One self-contained file, and the one that starts it. */
function stageVerifier(folder: string): void {
  const build = join(ROOT, VERIFIER, "build/make-verifier.node.ts")
  execFileSync(process.execPath, [build, join(folder, "dist/verifier.cjs")], { cwd: ROOT })
  // With it the command compares the built file with its sources, which a package does not contain.
  rmSync(join(folder, "dist/sources.json"))
  const { manifest } = readWorkspace(VERIFIER)
  for (const file of Object.values(manifest.bin ?? {})) copyProgram(VERIFIER, file, folder)
  writePapers(folder, publishedManifest(manifest, {}), `${VERIFIER}/README.md`, licencesOf(VERIFIER))
}

/** The output of its own build: bundled files and declarations. */
function stageSdk(folder: string): void {
  rmSync(join(ROOT, SDK, "dist/package"), { recursive: true, force: true })
  runBuild("@runseal/sdk")
  cpSync(join(ROOT, SDK, "dist/package"), folder, { recursive: true })
  writePapers(folder, JSON.parse(readFileSync(join(folder, "package.json"), "utf8")), "docs/sdk.md")
}

/** The service: its bundle, what that reads, the template of its database, the pages of /verify and /docs, the scripts and styles of /console. */
async function stageServer(folder: string): Promise<void> {
  runBuild("@runseal/verify-page")
  runBuild("@runseal/console")
  const page = `${PAGE}/dist/verify.html`
  const revision = sourceRevision()
  const swaggerUi = SWAGGER_UI_FILES.flatMap(([name]) => [name, `${name}.LICENSE.txt`]).filter(name =>
    existsSync(join(ROOT, "node_modules", SWAGGER_UI, name)),
  )
  const generated = new Map<string, string | Uint8Array>([
    [page, readFileSync(join(ROOT, page))],
    ...ASSET_NAMES.map(
      name => [`${CONSOLE}/dist/assets/${name}`, readFileSync(join(ROOT, CONSOLE, "dist/assets", name))] as const,
    ),
    [`${SERVER}/src/source-revision.txt`, `${revision ?? "unknown"}\n`],
    ...swaggerUi.map(name => [`${SERVER}/src/http/discovery/swagger-ui/${name}`, installed(SWAGGER_UI, name)] as const),
  ])
  await readOrMakeTemplate()
  for (const name of readdirSync(join(ROOT, TEMPLATE)))
    generated.set(`${TEMPLATE}/${name}`, readFileSync(join(ROOT, TEMPLATE, name)))
  const { named } = await bundleServer({
    folder: join(folder, "dist/bundle"),
    conditions: [SHIPPED],
    place: path => relativeTo("dist/bundle/main.js", placeInPackage(path)),
  })
  for (const path of named) writeFiles(folder, path, generated)
  const licences = [licencesOf(PAGE), ...SHIPPED_FILES_OF.map(licenceOf)].join("\n\n")
  writeManifest(folder, SERVER, withDependencies(SERVER), { packages: SHIPPED_FILES_OF, licences })
  for (const file of Object.values(readWorkspace(SERVER).manifest.bin ?? {})) copyProgram(SERVER, file, folder)
}

/** The gateway starts the published service as a process, so it depends on that package. */
function stageMcp(folder: string): void {
  const { name, version } = readWorkspace(SERVER).manifest
  const entries = [`${MCP}/src/main.ts`]
  stageModules(folder, MCP, { declarations: false, entries }, undefined, { [name]: version })
  for (const file of Object.values(readWorkspace(MCP).manifest.bin ?? {})) copyProgram(MCP, file, folder)
}

/** The doors take the client that a program makes with the published SDK, and share its circuit breaker: they depend on that package. */
function stageAgents(folder: string): void {
  const { name, version } = readWorkspace(SDK).manifest
  stageModules(folder, AGENTS, { declarations: true, beside: [name] }, undefined, { [name]: version })
}

/** The command; the module that the service mounts is a part of it. */
function stageHooks(folder: string): void {
  stageModules(folder, HOOKS, { declarations: false, entries: [`${HOOKS}/src/main.ts`] })
  for (const file of Object.values(readWorkspace(HOOKS).manifest.bin ?? {})) copyProgram(HOOKS, file, folder)
}

const SWAGGER_UI = "swagger-ui-dist"
const TEMPLATE = `${SERVER}/dist/template`
const installed = (name: string, file: string): Uint8Array => readFileSync(join(ROOT, "node_modules", name, file))

/** Packages whose files are packed with ours, and the licences of all third-party code in the package. */
type Shipped = { readonly packages: readonly string[]; readonly licences: string }

function stageModules(
  folder: string,
  workspace: string,
  how: Omit<Modules, "workspaces">,
  shipped?: Shipped,
  published: Readonly<Record<string, string>> = {},
): void {
  const modules = { workspaces: withDependencies(workspace, Object.keys(published)), ...how }
  writeModules(folder, modules)
  writeManifest(folder, workspace, modules.workspaces, shipped, { imports: mergedImports(modules), published })
}

function writeManifest(
  folder: string,
  workspace: string,
  workspaces: readonly Workspace[],
  shipped: Shipped | undefined,
  { imports, published }: { readonly imports?: Targets; readonly published?: Readonly<Record<string, string>> } = {},
): void {
  const required = Object.entries(foreignDependencies(workspaces, shipped?.packages))
  const code = globSync("dist/**/*.js", { cwd: folder }).map(path => readFileSync(join(folder, path), "utf8"))
  const isNamed = (dependency: string): boolean => code.some(text => text.includes(`"${dependency}`))
  const additions = {
    ...(imports === undefined ? {} : { imports }),
    // A workspace below may require what none of the modules that are packed here names.
    dependencies: { ...Object.fromEntries(required.filter(([dependency]) => isNamed(dependency))), ...published },
  }
  writePapers(
    folder,
    publishedManifest(readWorkspace(workspace).manifest, additions),
    `${workspace}/README.md`,
    shipped?.licences,
  )
}

/** @throws Error with the build's output */
function runBuild(workspace: string): void {
  const { status, stderr } = npm("run", "--silent", "build", "-w", workspace)
  if (status !== 0) throw new Error(`${workspace} could not be built: ${stderr}`)
}

function copyProgram(workspace: string, file: string, folder: string): void {
  const place = join(folder, file)
  mkdirSync(dirname(place), { recursive: true })
  copyFileSync(join(ROOT, workspace, file), place)
  chmodSync(place, 0o755)
}

// The files of a package besides its code: manifest, readme, licences; and the commit that it is built from.

/** @param readme from the root */
function writePapers(folder: string, manifest: PublishedManifest, readme: string, licences?: string): void {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
  writeFileSync(join(folder, "README.md"), withoutPages(readFileSync(join(ROOT, readme), "utf8")))
  copyFileSync(join(ROOT, "LICENSE"), join(folder, "LICENSE"))
  if (licences !== undefined) writeFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), licences)
}

/** The text without links to other pages, which a package does not contain. */
const withoutPages = (text: string): string => text.replace(/\[([^\]]+)\]\((?!https?:|#)[^)\s]*\)/g, "$1")

/** Name, version and licence text of every runtime dependency of a workspace, as the licences of bundled code require. */
const licencesOf = (workspace: string): string => runtimePackages(readLockfile(), workspace).map(licenceOf).join("\n\n")

/** The licence of this project, whose text is in every package. */
const OWN_LICENCE = "Apache-2.0"

/** The same for one installed package. @throws Error when it has no licence file and another licence than this project */
function licenceOf(name: string): string {
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
function sourceRevision(): string | undefined {
  const revision =
    process.env.RUNSEAL_SOURCE_REVISION ?? (git("status", "--porcelain") === "" ? git("rev-parse", "HEAD") : "")
  return /^[0-9a-f]{40}$/.test(revision ?? "") ? revision : undefined
}
