/**
 * The tests that a change of a file can turn red, the nearest first. Vitest's own `related` knows the same tests, but it gives them no order,
 * and it loads every file of the repository to find them.
 */
import type { ImportGraph } from "../../../tools/src/rooms/import-circles.ts"
import type { SourceFile } from "../../../tools/src/rooms/source-file.ts"

/** How many imports lead from each file to `changed`; without the files from which none leads there. */
export function hopsTo(imports: ImportGraph, changed: string): ReadonlyMap<string, number> {
  const importers = new Map<string, string[]>()
  for (const [file, targets] of imports)
    for (const target of targets) importers.set(target, [...(importers.get(target) ?? []), file])
  const hops = new Map([[changed, 0]])
  // The map gives what is added while it is read: so each file is asked once, the nearest first.
  for (const [file, away] of hops)
    for (const importer of importers.get(file) ?? []) if (!hops.has(importer)) hops.set(importer, away + 1)
  return hops
}

const wordsOf = (path: string): readonly string[] => (path.split("/").at(-1) ?? "").split(/[-.]/).map(stem)
/** So that `share` and `shares` are one word. */
const stem = (word: string): string => word.replace(/s$/, "")

/** Parts of names that say nothing of the subject. */
const COMMON: ReadonlySet<string> = new Set(["ts", "test", "table", "route"].map(stem))

/** So many imports less count as the distance of a test with a word of the file's name in its own … */
const NAMED = 10
/** … of a test that speaks of it by its whole name, in whatever spelling … */
const MENTIONED = 5
/** … of a test in a folder that has the name of the file's own … */
const FOLDER = 5
/** … and of a test of the file's own package, which starts no service of another. */
const OWN_PACKAGE = 5

/** `libs/core` of a path in it. */
const packageOf = (path: string): string => path.split("/", 2).join("/")

const folderOf = (path: string): string | undefined => path.split("/").at(-2)

/** The tests that import `changed`, the nearest first. */
export function nearestTests(
  imports: ImportGraph,
  changed: string,
  tests: readonly Pick<SourceFile, "path" | "text">[],
): readonly string[] {
  const hops = hopsTo(imports, changed)
  const words = wordsOf(changed).filter(word => !COMMON.has(word))
  const name = new RegExp(words.join("s?[-_ ]?"), "i")
  const distance = ({ path, text }: (typeof tests)[number]): number =>
    (hops.get(path) ?? 0) -
    (wordsOf(path).some(word => words.includes(word)) ? NAMED : 0) -
    (name.test(text) ? MENTIONED : 0) -
    (folderOf(path) === folderOf(changed) ? FOLDER : 0) -
    (packageOf(path) === packageOf(changed) ? OWN_PACKAGE : 0)
  return tests
    .filter(({ path }) => hops.has(path))
    .map(test => ({ path: test.path, distance: distance(test) }))
    .sort((a, b) => a.distance - b.distance || (a.path < b.path ? -1 : 1))
    .map(({ path }) => path)
}
