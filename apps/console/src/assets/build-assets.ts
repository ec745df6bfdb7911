/** Bundles the style sheet and the islands. Each has the hash of its bytes in its name, so that browsers may cache it for ever. */
import { fileURLToPath } from "node:url"

const FOLDER = fileURLToPath(new URL("../", import.meta.url))

/** The files of the console by their names. An island is one script, which runs on the pages that name it. */
export const ASSET_SOURCES = {
  "console.css": "style/console.css",
  "run.js": "islands/verify-run.ts",
  "tail.js": "islands/live-tail.ts",
  "log.js": "islands/audit-log.ts",
} as const
export type AssetName = keyof typeof ASSET_SOURCES
export const ASSET_NAMES: readonly AssetName[] = ["console.css", "run.js", "tail.js", "log.js"]

/** The text of every asset. @throws Error when its sources do not build */
export async function buildAssets(): Promise<ReadonlyMap<AssetName, string>> {
  const { build, stop } = await import("esbuild")
  try {
    const built = ASSET_NAMES.map(async name => {
      const { outputFiles } = await build({ ...BUNDLING, entryPoints: [FOLDER + ASSET_SOURCES[name]] })
      return [name, outputFiles.map(({ text }) => text.trim()).join("")] as const
    })
    return new Map(await Promise.all(built))
  } finally {
    // Without this, esbuild's process would live as long as this one.
    await stop()
  }
}

const BUNDLING = {
  bundle: true,
  minify: true,
  write: false,
  platform: "browser",
  format: "iife",
  target: "es2022",
  charset: "utf8",
  logLevel: "silent",
} as const
