/** What is in a packed file. */
import { execFileSync } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { PublishedManifest } from "./manifest.ts"

/** Unpacks a file into a folder that is there. npm puts everything into one folder, which is left out. */
export function unpack(file: string, folder: string): void {
  execFileSync("tar", ["-xzf", file, "-C", folder, "--strip-components=1"])
}

/** Paths of all files of an unpacked package. */
export const pathsIn = (folder: string): readonly string[] =>
  globSync("**/*", { cwd: folder, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))

export const manifestIn = (folder: string): PublishedManifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
