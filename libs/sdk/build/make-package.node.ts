/**
 * Completes the folder that is published, `npm publish libs/sdk/dist/package`. The workspace's own exports are sources, which
 * Node does not run under node_modules, and npm overrides no exports on publishing; so the package is made beside them: the
 * bundles, which esbuild wrote there, the declarations of all it takes from api, permit, core, log and canonical, and the licences of what is
 * bundled. It depends on nothing.
 *
 *   node make-package.node.ts <folder> <esbuild's metafile>
 */
import { execFileSync } from "node:child_process"
import {
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, posix, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const SDK = fileURLToPath(new URL("..", import.meta.url))
const ROOT = join(SDK, "../..")

/** What is read of a package.json. */
type Manifest = {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly type: string
  readonly sideEffects: boolean
  readonly engines: object
  readonly homepage: string
  readonly publishConfig: { readonly main: string; readonly types: string; readonly exports: unknown }
  readonly imports?: Readonly<Record<string, { readonly types: string } | undefined>>
}

const [folder = "", metafile = ""] = process.argv.slice(2)
const published = resolve(folder)

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(published, path)), { recursive: true })
  writeFileSync(join(published, path), text)
}

const declared = mkdtempSync(join(tmpdir(), "runseal-sdk-declarations-"))
try {
  declare(declared)
  writeDeclarations("sdk/index", "sdk/verify")
} finally {
  rmSync(declared, { recursive: true })
}
copyFileSync(join(ROOT, "node_modules/valibot/dist/index.d.mts"), join(published, "types/valibot.d.ts"))
write("package.json", manifest())
write("THIRD-PARTY-LICENSES.txt", licences())
copyFileSync(join(ROOT, "LICENSE"), join(published, "LICENSE"))
copyFileSync(join(ROOT, "docs/sdk.md"), join(published, "README.md"))

/** Writes the declarations of every library into a temporary folder, so that a type check that runs meanwhile keeps its `dist/types`. */
function declare(folder: string): void {
  const files = globSync("libs/{api,canonical,log,core,permit,sdk}/src/**/*.ts", { cwd: ROOT }).filter(
    path => !/\.test\.ts$/.test(path),
  )
  // `npm run check` judges the types.
  const compilerOptions = {
    composite: false,
    noCheck: true,
    rootDir: join(ROOT, "libs"),
    outDir: folder,
    lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
  }
  const settings = join(folder, "tsconfig.json")
  const sources = files.map(path => join(ROOT, path))
  writeFileSync(
    settings,
    JSON.stringify({ extends: join(ROOT, "tsconfig.base.json"), compilerOptions, files: sources }),
  )
  execFileSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", settings], { stdio: "inherit" })
}

/** Copies the declarations of modules, each `library/path`, and of all modules they name. */
function writeDeclarations(...entries: readonly string[]): void {
  const waiting = [...entries]
  const seen = new Set(waiting)
  for (const module of waiting) {
    const [library = "", ...path] = module.split("/")
    const text = readFileSync(join(declared, library, "src", `${path.join("/")}.d.ts`), "utf8")
    const rewritten = text.replace(/(\bfrom |\bimport\()"([^"]+)"/g, (_, before: string, specifier: string) => {
      const target = targetOf(module, specifier)
      if (target !== "valibot" && !seen.has(target)) {
        seen.add(target)
        waiting.push(target)
      }
      return `${before}"${relativeTo(module, target)}.js"`
    })
    write(`types/${module}.d.ts`, rewritten)
  }
}

/** The module a specifier means. */
function targetOf(module: string, specifier: string): string {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(module), specifier.replace(/\.ts$/, ""))
  if (specifier.startsWith("#")) return importTarget(module, specifier)
  if (specifier === "@runseal/canonical") return "canonical/index"
  if (specifier === "@runseal/permit") return "permit/index"
  if (/^@runseal\/(?:api|core|log)\//.test(specifier)) return specifier.slice("@runseal/".length)
  if (specifier === "valibot") return specifier
  throw new Error(`${module} names ${specifier}, which is not published with it.`)
}

/** What a library's own `imports` mean to the compiler. */
function importTarget(module: string, specifier: string): string {
  const [library = ""] = module.split("/")
  const types = readManifest(join(ROOT, "libs", library)).imports?.[specifier]?.types
  if (types === undefined) throw new Error(`${module} names ${specifier}, which its library does not define.`)
  return types.replace(/^\.\/src/, library).replace(/\.ts$/, "")
}

function relativeTo(module: string, target: string): string {
  const path = posix.relative(posix.dirname(module), target)
  return path.startsWith(".") ? path : `./${path}`
}

/** The workspace's manifest with the exports of `publishConfig`, and without what concerns the workspace alone. */
function manifest(): string {
  const { name, version, description, homepage, license, type, sideEffects, engines, publishConfig } = readManifest(SDK)
  const { main, types, exports } = publishConfig
  const published = { name, version, description, homepage, license, type, sideEffects, engines, main, types, exports }
  return `${JSON.stringify(published, null, 2)}
`
}

/** The licence of every package whose code esbuild took in. */
function licences(): string {
  const { inputs }: { readonly inputs: object } = JSON.parse(readFileSync(metafile, "utf8"))
  const packages = Object.keys(inputs).flatMap(path => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [])
  return [...new Set(packages)].sort().map(licenceOf).join("\n\n")
}

function licenceOf(name: string): string {
  const place = join(ROOT, "node_modules", name)
  const file = readdirSync(place).find(entry => /^licen[cs]e(\.|$)/i.test(entry))
  if (file === undefined) throw new Error(`${name} is bundled and has no licence file.`)
  return `${name} ${readManifest(place).version}\n\n${readFileSync(join(place, file), "utf8")}`
}

function readManifest(place: string): Manifest {
  return JSON.parse(readFileSync(join(place, "package.json"), "utf8"))
}
