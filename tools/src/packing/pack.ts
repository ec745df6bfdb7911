/** Packs the published packages reproducibly: one commit gives the same bytes each time. */
import { execFileSync } from "node:child_process"
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { npm } from "../supply-chain/npm.ts"
import { STAGES } from "./packing-stages.ts"
import type { PublishedManifest } from "./published-manifest.ts"

export type Packed = { readonly manifest: PublishedManifest; readonly file: string }

/**
 * Builds every package and writes it as `runseal-<name>-<version>.tgz`. Uses no network.
 * @param destination a folder, created if it does not exist
 * @throws Error when one could not be built
 */
export async function packAll(destination: string): Promise<readonly Packed[]> {
  mkdirSync(destination, { recursive: true })
  const packed: Packed[] = []
  for (const { workspace, stage } of STAGES) {
    const folder = mkdtempSync(join(tmpdir(), `runseal-${basename(workspace)}-`))
    try {
      await stage(folder)
      setModes(folder)
      packed.push({ manifest: manifestIn(folder), file: pack(folder, destination) })
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
  return packed
}

/** npm packs the modes of files, which depend on the umask; it sets times and owners itself. */
function setModes(folder: string): void {
  for (const path of globSync("**/*", { cwd: folder })) {
    const file = join(folder, path)
    const stat = statSync(file)
    chmodSync(file, stat.isDirectory() || (stat.mode & 0o100) !== 0 ? 0o755 : 0o644)
  }
}

function pack(folder: string, destination: string): string {
  const { status, stdout, stderr } = npm(
    "pack",
    folder,
    "--ignore-scripts",
    "--pack-destination",
    destination,
    "--json",
  )
  if (status !== 0) throw new Error(`npm pack failed: ${stderr}`)
  return join(destination, packedName(stdout))
}

/** npm 11 answers with a list, later ones with an object by package name. */
function packedName(answer: string): string {
  const answers: Readonly<Record<string, { readonly filename?: string }>> = JSON.parse(answer)
  const name = Object.values(answers)[0]?.filename
  if (name === undefined) throw new Error("npm pack named no file.")
  return name
}

/** Unpacks a file into an existing folder, without the one top folder that npm packs everything into. */
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
