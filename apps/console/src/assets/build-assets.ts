/** Bundles the style sheets and the islands, and reads the typeface. Each has the hash of its bytes in its name, so that browsers may cache it for ever. */
import { fileURLToPath } from "node:url"
import { readFont } from "@runseal/verify-page/face/typeface.node"
import { ASSET_NAMES, type AssetName } from "./asset-names.ts"

const FOLDER = fileURLToPath(new URL("../", import.meta.url))

type FontAsset = Extract<AssetName, `${string}.woff2`>
type BuiltAsset = Exclude<AssetName, FontAsset>

const isFont = (name: AssetName): name is FontAsset => name.endsWith(".woff2")

const SOURCES: Readonly<Record<BuiltAsset, string>> = {
  "console.css": "style/console.css",
  "site.css": "style/site.css",
  "docs.css": "style/docs.css",
  "page.js": "islands/every-page.ts",
  "session.js": "islands/session-end.ts",
  "run.js": "islands/verify-run.ts",
  "tail.js": "islands/live-tail.ts",
  "log.js": "islands/audit-log.ts",
  "approval.js": "islands/approve.ts",
  "passkey.js": "islands/enrol.ts",
  "docs.js": "islands/api-calls.ts",
  "live.js": "islands/live-page.ts",
}

/** Folder beside the bundle of a checkout's server. */
export const BUNDLED_ASSETS = "console-assets"

/** The content of every asset. @param noteSource gets the path of each source, from the working folder. @throws Error when its sources do not build */
export async function buildAssets(
  noteSource: (path: string) => void = () => undefined,
): Promise<ReadonlyMap<AssetName, string | Uint8Array>> {
  const { build, stop } = await import("esbuild")
  try {
    const built = ASSET_NAMES.map(async name => {
      if (isFont(name)) return [name, readFont(name)] as const
      // The names under which fonts are served are known later.
      const { outputFiles, metafile } = await build({
        ...BUNDLING,
        external: ["*.woff2"],
        entryPoints: [FOLDER + SOURCES[name]],
      })
      for (const path of Object.keys(metafile.inputs)) noteSource(path)
      return [name, outputFiles.map(({ text }) => text.trim()).join("")] as const
    })
    return new Map<AssetName, string | Uint8Array>(await Promise.all(built))
  } finally {
    // Without this, esbuild's process would live as long as this one.
    await stop()
  }
}

const BUNDLING = {
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  platform: "browser",
  format: "iife",
  target: "es2022",
  charset: "utf8",
  logLevel: "silent",
} as const
