import { execFileSync } from "node:child_process"
import { existsSync, globSync, readFileSync } from "node:fs"
import { join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { type SourceFile, sourceFile } from "./source-file.ts"

/** The repository this file belongs to. */
export const ROOT: string = fileURLToPath(new URL("../../../", import.meta.url))

/** Folders without sources, ignored when there is no git to list the files. */
const IGNORED: ReadonlySet<string> = new Set([".git", ".nx", ".runseal", "coverage", "data", "dist", "node_modules"])

/** Paths, from the root, of all files that are or could be committed; without git, of all files but the ignored folders. */
export function repositoryPaths(root: string = ROOT): string[] {
  return (listByGit(root) ?? listByWalk(root)).filter(path => existsSync(join(root, path))).sort()
}

function listByGit(root: string): string[] | undefined {
  if (!existsSync(join(root, ".git"))) return undefined
  const list = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  })
  return [...new Set(list.split("\0").filter(path => path !== ""))]
}

function listByWalk(root: string): string[] {
  const entries = globSync("**/*", { cwd: root, withFileTypes: true, exclude: entry => IGNORED.has(entry.name) })
  return entries
    .filter(entry => entry.isFile())
    .map(entry => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, "/"))
}

/** The text of one file of the repository. */
export function readText(path: string, root: string = ROOT): string {
  return readFileSync(join(root, path), "utf8")
}

/** All TypeScript and JavaScript sources, scanned; those of this repository once in a process, since every rule reads them. */
export function repositorySources(root: string = ROOT): readonly SourceFile[] {
  if (root !== ROOT) return scannedSources(root)
  ownSources ??= scannedSources(ROOT)
  return ownSources
}
let ownSources: readonly SourceFile[] | undefined

const scannedSources = (root: string): readonly SourceFile[] =>
  repositoryPaths(root)
    .filter(path => /\.(?:ts|mts|cts|js|mjs|cjs|tsx|jsx)$/.test(path))
    .map(path => sourceFile(path, readText(path, root)))
