/** Circles of imports, of types too: two files in one cannot be read one after the other. */
import { targetOf } from "./check-rooms.ts"
import type { SourceFile } from "./source-file.ts"

/** Each file with those of the same files that it imports. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>

export function importGraph(files: readonly SourceFile[]): ImportGraph {
  const known = new Set(files.map(({ path }) => path))
  return new Map(files.map(file => [file.path, importedFiles(file, known)]))
}

function importedFiles(file: SourceFile, known: ReadonlySet<string>): readonly string[] {
  return file.imports.flatMap(({ specifier }) => {
    const target = targetOf(file.path, specifier)
    if (target === undefined) return []
    const found = [target, `${target}.ts`, `${target}/index.ts`].find(path => known.has(path))
    return found === undefined || found === file.path ? [] : [found]
  })
}

/** Groups of files that import each other in a circle: strongly connected components of two or more, by Tarjan's algorithm. */
export function circlesOf(imports: ImportGraph): readonly (readonly string[])[] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const found: string[][] = []
  const visit = (file: string): number => {
    const number = order.size
    order.set(file, number)
    open.push(file)
    let low = number
    for (const target of imports.get(file) ?? []) {
      if (!order.has(target)) low = Math.min(low, visit(target))
      else if (open.includes(target)) low = Math.min(low, order.get(target) ?? low)
    }
    lowest.set(file, low)
    if (low === number) {
      const circle = open.splice(open.indexOf(file))
      if (circle.length > 1) found.push(circle)
    }
    return low
  }
  for (const file of imports.keys()) if (!order.has(file)) visit(file)
  return found
}
