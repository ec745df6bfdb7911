/** Builds that a starting file can hold against their sources (is-fresh.cjs). Decision 0040. */
import { rmSync, writeFileSync } from "node:fs"
import { dirname, relative } from "node:path"
import { digestOfAll } from "./is-fresh.cjs"

/** Absolute paths. */
export type Built = { readonly sources: readonly string[]; readonly built: readonly string[] }

/**
 * Builds, and writes a stamp: the paths of all sources and built files, and a digest of each of the two lists. Builds twice: if a file
 * changed meanwhile, no stamp is written, and the starting file runs the sources.
 * @param stamp the file to write, `sources.json` in the folder of the built files
 */
export async function buildStamped(stamp: string, build: () => Built | Promise<Built>): Promise<void> {
  rmSync(stamp, { force: true })
  const first = digestsOf(stamp, await build())
  const second = digestsOf(stamp, await build())
  if (first === second) writeFileSync(stamp, first)
}

function digestsOf(stamp: string, { sources, built }: Built): string {
  const folder = dirname(stamp)
  const inOrder = (paths: readonly string[]): readonly string[] => paths.map(path => relative(folder, path)).sort()
  const [made, of] = [inOrder(built), inOrder(sources)]
  return JSON.stringify({
    sources: of,
    sources_digest: digestOfAll(folder, of),
    built: made,
    built_digest: digestOfAll(folder, made),
  })
}
