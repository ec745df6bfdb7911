/**
 * Bundles the service. Its own modules become one file for the main thread, one for each worker thread, and what they have in common; those
 * of drizzle-orm, which take most of a start when they are loaded one by one, become files of their own, since the process log shows no
 * error text of a library. All other packages stay where they are installed.
 */
import { readFileSync } from "node:fs"
import { dirname, join, posix, relative, resolve } from "node:path"
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild"
import { ROOT } from "../supply-chain/lockfile.ts"
import { withAddresses } from "./modules.ts"
import { isOwn } from "./workspaces.ts"

const MAIN = "apps/server/src/main.ts"
/** A package whose modules are bundled, and the folder for them, which apps/server/src/process-log.ts names too. */
export const BUNDLED_PACKAGE = "drizzle-orm"
const isBundled = (name: string): boolean => name === BUNDLED_PACKAGE || name.startsWith(`${BUNDLED_PACKAGE}/`)
/** `drizzle-orm/pg-core` as a file. */
const bundledFile = (name: string): string => (name === BUNDLED_PACKAGE ? `${name}/index` : name)

export type Bundling = {
  /** Folder for the files. */
  readonly folder: string
  /** Conditions of imports, besides Node's own. */
  readonly conditions: readonly string[]
  /** Where a file or folder will be that a module names, from that folder; `path` is from the root. */
  readonly place: (path: string) => string
}

export type Bundled = {
  /** Every source, absolute. */
  readonly sources: readonly string[]
  /** The files, absolute. */
  readonly built: readonly string[]
  /** Files and folders that the modules read when they run, from the root. */
  readonly named: readonly string[]
}

/** What the modules name, as it is found while they are read. */
type Found = {
  /** Modules of threads, from the root, and the first module. */
  readonly entries: Set<string>
  /** Modules of the bundled package, as they are imported. */
  readonly packaged: Set<string>
  readonly read: Set<string>
}

/** @throws Error when it does not build */
export async function bundleServer(bundling: Bundling): Promise<Bundled> {
  const found: Found = { entries: new Set([MAIN]), packaged: new Set(), read: new Set() }
  let own: Metafile
  let known: number
  // A thread's module is known once the module that names it is read; it may name others.
  do {
    known = found.entries.size
    own = await bundle(
      bundling.folder,
      [...found.entries].map(path => [posix.basename(path, ".ts"), path]),
      {
        conditions: [...bundling.conditions],
        plugins: [otherPackages(found), addressesIn(bundling, found)],
      },
    )
  } while (known < found.entries.size)
  const packaged = await bundle(
    bundling.folder,
    [...found.packaged].map(name => [bundledFile(name), name]),
    {
      chunkNames: `${BUNDLED_PACKAGE}/part-[hash]`,
      plugins: [foreignOf(BUNDLED_PACKAGE)],
    },
  )
  const paths = (of: (metafile: Metafile) => object): readonly string[] =>
    [own, packaged].flatMap(metafile => Object.keys(of(metafile)).map(path => join(ROOT, path)))
  return { sources: paths(({ inputs }) => inputs), built: paths(({ outputs }) => outputs), named: [...found.read] }
}

/** @param entries of each file: its name, and the module; in order, they give the same bytes each time */
async function bundle(
  folder: string,
  entries: readonly (readonly [file: string, module: string])[],
  options: BuildOptions,
): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: Object.fromEntries([...entries].sort()),
    outdir: folder,
    chunkNames: "part-[hash]",
    bundle: true,
    splitting: true,
    platform: "node",
    target: "node22.18",
    format: "esm",
    charset: "utf8",
    logLevel: "error",
    ...options,
    metafile: true,
  })
  return metafile
}

/** Modules of packages, by their names. */
const PACKAGED = /^[^./#]/

const otherPackages = ({ packaged }: Found): Plugin => ({
  name: "other packages",
  setup: ({ onResolve }) => {
    onResolve({ filter: PACKAGED }, ({ path, kind }) => {
      if (kind === "entry-point" || isOwn(path)) return undefined
      if (!isBundled(path)) return { path, external: true }
      packaged.add(path)
      return { path: `./${bundledFile(path)}.js`, external: true }
    })
  },
})

/** Whatever a package imports of others stays where it is installed. */
const foreignOf = (name: string): Plugin => ({
  name: `others than ${name}`,
  setup: ({ onResolve }) => {
    onResolve({ filter: PACKAGED }, ({ path, kind }) =>
      kind === "entry-point" || path === name || path.startsWith(`${name}/`) ? undefined : { path, external: true },
    )
  },
})

/** `new URL("…", import.meta.url)`: of a module, which becomes an entry, or of what is read. */
const addressesIn = ({ place }: Bundling, { entries, read }: Found): Plugin => ({
  name: "addresses",
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      loader: "ts",
      contents: withAddresses(readFileSync(path, "utf8"), address => {
        const target = relative(ROOT, resolve(dirname(path), address)).replaceAll("\\", "/")
        // The address of another package's file.
        if (target.startsWith("..")) return address
        if (target.endsWith(".ts")) {
          entries.add(target)
          return `./${posix.basename(target, ".ts")}.js`
        }
        read.add(target)
        return place(target) + (address.endsWith("/") ? "/" : "")
      }),
    }))
  },
})
