/** JavaScript and declarations of sources, module by module, as the pinned compiler writes them. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ROOT } from "../supply-chain/lockfile.ts"

export type Compiled = {
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
export function compile(paths: readonly string[]): Compiled {
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
