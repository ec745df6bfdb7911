/**
 * Builds the service of this checkout: the bundle that `npm start` runs, with its stamp (decision 0040), and the template of its database.
 *
 *   node tools/src/packing/make-server.ts
 */
import { rmSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { readOrMakeTemplate } from "@runseal/server/store/driver/database"
import { ROOT } from "../supply-chain/lockfile.ts"
import { buildStamped } from "./build-stamp.ts"
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
  return { sources: [...sources, ...SETTINGS], built }
}

await buildStamped(join(FOLDER, "sources.json"), build)
await readOrMakeTemplate()
