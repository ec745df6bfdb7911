/**
 * Builds the service of this checkout: the bundle that `npm start` runs, with its stamp (decision 0040), and the template of its database.
 *
 *   node tools/src/packing/make-server.ts
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { BUNDLED_ASSETS, buildAssets } from "@runseal/console/assets/build-assets"
import { readOrMakeTemplate } from "@runseal/server/store/driver/database"
import { ROOT } from "../supply-chain/lockfile.ts"
import { type Built, buildStamped } from "./build-stamp.ts"
import { bundleServer } from "./bundle-server.ts"
import { withDependencies } from "./workspaces.ts"

const SERVER = "apps/server"
const FOLDER = join(ROOT, SERVER, "dist/bundle")

/** They decide how imports are resolved, and how it is bundled; the bundler does not list them. */
const SETTINGS = [
  ...withDependencies(SERVER).map(({ folder }) => join(ROOT, folder, "package.json")),
  ...["bundle-server.ts", "modules.ts", "make-server.ts"].map(name => fileURLToPath(new URL(name, import.meta.url))),
]

const build = async () => {
  rmSync(FOLDER, { recursive: true, force: true })
  const place = (path: string): string => relative(FOLDER, join(ROOT, path)).replaceAll("\\", "/")
  const { sources, built } = await bundleServer({ folder: FOLDER, conditions: [], place })
  const assets = await writeAssets()
  return { sources: [...sources, ...SETTINGS, ...assets.sources], built: [...built, ...assets.built] }
}

/** What the pages of the console load, so that no page waits until it is built. */
async function writeAssets(): Promise<Built> {
  const folder = join(FOLDER, BUNDLED_ASSETS)
  const sources = new Set<string>()
  mkdirSync(folder, { recursive: true })
  const written = [...(await buildAssets(path => void sources.add(resolve(path))))].map(([name, content]) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  })
  return { sources: [...sources], built: written }
}

await buildStamped(join(FOLDER, "sources.json"), build)
await readOrMakeTemplate()
