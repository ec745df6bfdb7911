/** Bundles the style sheet and the islands. Each has the hash of its bytes in its name, so that browsers may cache it for ever. */
import { fileURLToPath } from "node:url"
import { ASSET_NAMES, type AssetName } from "./asset-names.ts"

const FOLDER = fileURLToPath(new URL("../", import.meta.url))

const SOURCES: Readonly<Record<AssetName, string>> = {
  "console.css": "style/console.css",
  "run.js": "islands/verify-run.ts",
  "tail.js": "islands/live-tail.ts",
  "log.js": "islands/audit-log.ts",
  "approval.js": "islands/approve.ts",
  "passkey.js": "islands/enrol.ts",
}

/** The text of every asset. @throws Error when its sources do not build */
export async function buildAssets(): Promise<ReadonlyMap<AssetName, string>> {
  const { build, stop } = await import("esbuild")
  try {
    const built = ASSET_NAMES.map(async name => {
      const { outputFiles } = await build({ ...BUNDLING, entryPoints: [FOLDER + SOURCES[name]] })
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
