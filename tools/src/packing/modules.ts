/**
 * Packs a workspace and those it depends on into one package, `dist/<workspace>/…`, so that each package can be
 * installed alone. The files are found by following imports from the package's entry points, so there is no list to maintain, and no test,
 * fixture or unused file is packed.
 */

import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join, posix } from "node:path"
import { repositoryPaths } from "../rooms/repository-files.ts"
import { isTest, isWithin } from "../rooms/source-file.ts"
import { ROOT } from "../supply-chain/lockfile.ts"
import { isOwn, pathsOf, pathUnder, type Target, type Targets, type Workspace } from "./workspaces.ts"

/** Condition of an import target that only a package uses, not a checkout. */
export const SHIPPED = "shipped"
const CONDITIONS: ReadonlySet<string> = new Set([SHIPPED])

export type Modules = {
  /** The workspace that is published first, then those whose modules come with it. */
  readonly workspaces: readonly Workspace[]
  /** Entry points, as paths from the root. Absent: every source of the first workspace. */
  readonly entries?: readonly string[]
  /** Whether others compile against the package. */
  readonly declarations: boolean
  /** Names of our packages that are published beside this one, which names them as it names those of others. */
  readonly beside?: readonly string[]
  /** Generated files, by the path from the root at which modules name them or their folder. */
  readonly generated?: Generated
}
type Generated = ReadonlyMap<string, string | Uint8Array>

/** The path of a workspace's file in the package: `dist/core/verify/chain.js` for `libs/core/src/verify/chain.ts`. */
export function placeInPackage(path: string): string {
  return path.replace(/\.ts$/, ".js").replace(/^.*?\/([^/]+)\/(?:src|dist)(?=\/)/, "dist/$1")
}

/** Writes the modules into a package's folder. @throws Error when one names a file that does not exist */
export function writeModules(
  packageFolder: string,
  { workspaces, entries, declarations, beside = [], generated = new Map() }: Modules,
): void {
  const folders = workspaces.map(({ folder }) => `${folder}/src/`)
  const sources = repositoryPaths().filter(path => folders.some(folder => path.startsWith(folder)) && isSource(path))
  const compiled = compile(sources)
  const resolve = resolverOf(workspaces, beside)
  const writeModule = (from: string): void => {
    const relink = (text: string): string =>
      withReferences(text, name => {
        const [target] = name.startsWith("#") ? [] : resolve(from, name)
        if (target === undefined) return name
        // The address of a folder needs its final slash.
        return relativeTo(placeInPackage(from), placeInPackage(target)) + (name.endsWith("/") ? "/" : "")
      })
    write(packageFolder, placeInPackage(from), relink(compiled.script(from)))
    if (declarations)
      write(packageFolder, placeInPackage(from).replace(/\.js$/, ".d.ts"), relink(compiled.declarations(from)))
  }
  const all = sources.filter(path => path.startsWith(folders[0] ?? ""))
  const names = (path: string): readonly string[] => (isSource(path) ? namedBy(path, compiled, declarations) : [])
  for (const path of reachable(entries ?? all, names, resolve)) {
    if (isSource(path)) writeModule(path)
    else writeFiles(packageFolder, path, generated)
  }
}

/** Writes a file, or all files of a folder, that a module names. @throws Error when there is none */
export function writeFiles(packageFolder: string, path: string, generated: Generated): void {
  for (const [file, bytes] of filesAt(path, generated)) write(packageFolder, placeInPackage(file), bytes)
}

function write(packageFolder: string, place: string, bytes: string | Uint8Array): void {
  const file = join(packageFolder, place)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, bytes)
}

const isSource = (path: string): boolean => /(?<!\.d)\.ts$/.test(path) && !isTest(path)

const namedBy = (path: string, { script, declarations }: Compiled, types: boolean): readonly string[] =>
  referencesIn(types ? `${script(path)}\n${declarations(path)}` : script(path))

type Resolve = (from: string, name: string) => readonly string[]

function reachable(
  entries: readonly string[],
  names: (path: string) => readonly string[],
  resolve: Resolve,
): ReadonlySet<string> {
  const found = new Set(entries)
  // A set that grows while it is walked is walked to its end.
  for (const path of found) for (const name of names(path)) for (const target of resolve(path, name)) found.add(target)
  return found
}

/** A file, or all files of a folder; those that are generated come before those of the repository. */
function filesAt(path: string, generated: Generated): readonly (readonly [path: string, bytes: string | Uint8Array])[] {
  const isHere = (file: string): boolean => isWithin(file, path)
  const made = [...generated].filter(([file]) => isHere(file))
  const found =
    made.length > 0
      ? made
      : repositoryPaths()
          .filter(isHere)
          .map(file => [file, readFileSync(join(ROOT, file))] as const)
  if (found.length === 0) throw new Error(`${path} is named by what is published, and is not there.`)
  return found
}

/** Resolves a name in a module to paths from the root; to none for a third-party package. */
function resolverOf(workspaces: readonly Workspace[], beside: readonly string[]): Resolve {
  return (from, name) => {
    if (name.startsWith(".")) return [sourceOf(posix.join(posix.dirname(from), name))]
    const home = workspaces.find(({ folder, manifest }) =>
      name.startsWith("#")
        ? from.startsWith(`${folder}/`)
        : name === manifest.name || name.startsWith(`${manifest.name}/`),
    )
    if (home === undefined) {
      if (isOwn(name) && !beside.some(own => isWithin(name, own)))
        throw new Error(`${from} names ${name}, which is not published with it.`)
      return []
    }
    const inHome = (path: string): string => posix.join(home.folder, path)
    if (name.startsWith("#")) return pathsOf(asShipped(home.manifest.imports?.[name] ?? null)).map(inHome)
    const path = exported(home, `.${name.slice(home.manifest.name.length)}`)
    if (path === undefined) throw new Error(`${from} names ${name}, which its workspace does not export.`)
    return [inHome(path)]
  }
}

/** A compiled module names another `.js`, whose source is `.ts`, and a folder with a final slash. */
function sourceOf(path: string): string {
  const source = path.replace(/\.js$/, ".ts")
  return (existsSync(join(ROOT, source)) ? source : path).replace(/\/$/, "")
}

/** The path that a workspace exports as `./name`, by that name or by its pattern `./*`. */
function exported({ manifest }: Workspace, name: string): string | undefined {
  const { exports = {} } = manifest
  const target: Target | undefined = exports[name] ?? exports["./*"]
  return target === undefined ? undefined : pathUnder(target, CONDITIONS)?.replace("*", name.slice("./".length))
}

export function relativeTo(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to)
  return path.startsWith(".") ? path : `./${path}`
}

const asShipped = (target: Target): Target =>
  target !== null && typeof target !== "string" ? (target[SHIPPED] ?? target) : target

/** The workspaces' own `imports`, as paths of the package. */
export function mergedImports({ workspaces, declarations }: Modules): Targets {
  const moved = (target: Target, workspace: string, condition = ""): Target => {
    if (target === null) return null
    if (typeof target === "string")
      return target.replace(/^\.\/src/, `./dist/${workspace}`).replace(/\.ts$/, condition === "types" ? ".d.ts" : ".js")
    const targets = Object.entries(target).filter(([name]) => declarations || name !== "types")
    return Object.fromEntries(targets.map(([name, next]) => [name, moved(next, workspace, name)]))
  }
  return Object.fromEntries(
    workspaces.flatMap(({ folder, manifest }) =>
      Object.entries(manifest.imports ?? {}).map(([name, target]) => [
        name,
        moved(asShipped(target), basename(folder)),
      ]),
    ),
  )
}

/** `from "…"`, `import "…"`, `import("…")`. */
const MODULE_NAME = /(\bfrom |\bimport |\bimport\()"([^"\n]+)"/g
/** `new URL("…", import.meta.url)`: the module of a thread, a file or a folder. */
const ADDRESS = /(\bnew URL\()"([^"\n]+)"(?=, import\.meta\.url\))/g

/** Every module name in a module's text, as it is written there. */
export function referencesIn(text: string): readonly string[] {
  return [MODULE_NAME, ADDRESS].flatMap(pattern => [...text.matchAll(pattern)].map(([, , name = ""]) => name))
}

/** The text with each of these names replaced. */
export const withReferences = (text: string, renamed: (name: string) => string): string =>
  withAddresses(replaced(text, MODULE_NAME, renamed), renamed)

/** The text with the names in its `new URL("…", import.meta.url)` replaced. */
export const withAddresses = (text: string, renamed: (name: string) => string): string =>
  replaced(text, ADDRESS, renamed)

const replaced = (text: string, pattern: RegExp, renamed: (name: string) => string): string =>
  text.replace(pattern, (_, opening: string, name: string) => `${opening}"${renamed(name)}"`)

// JavaScript and declarations of sources, module by module, as the pinned compiler writes them.

type Compiled = {
  /** JavaScript of a source, by its path from the root. */
  readonly script: (path: string) => string
  /** Its declarations. */
  readonly declarations: (path: string) => string
}

const COMPILER = join(ROOT, "node_modules/typescript/bin/tsc")

/**
 * Compiles sources; `npm run check` judges their types.
 * @param paths from the root, with forward slashes
 */
function compile(paths: readonly string[]): Compiled {
  const folder = mkdtempSync(join(tmpdir(), "runseal-compile-"))
  try {
    const settings = join(folder, "tsconfig.json")
    const output = join(folder, "made")
    const compilerOptions = {
      composite: false,
      emitDeclarationOnly: false,
      noCheck: true,
      rootDir: ROOT,
      outDir: output,
      lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
      types: ["node"],
      typeRoots: [join(ROOT, "node_modules/@types")],
    }
    const files = paths.map(path => join(ROOT, path))
    writeFileSync(settings, JSON.stringify({ extends: join(ROOT, "tsconfig.base.json"), compilerOptions, files }))
    execFileSync(process.execPath, [COMPILER, "-p", settings], { cwd: ROOT })
    const read = (extension: string) => {
      const texts = new Map(
        paths.map(path => [path, readFileSync(join(output, path.replace(/\.ts$/, extension)), "utf8")]),
      )
      return (path: string): string => texts.get(path) ?? ""
    }
    return { script: read(".js"), declarations: read(".d.ts") }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
