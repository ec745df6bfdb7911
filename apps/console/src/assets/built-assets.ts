/**
 * The assets of a server in a checkout: those beside its bundle, which were built with it of the same sources; and else built for the first page
 * that needs them. In a package, shipped-assets.ts takes this place.
 */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { ASSET_NAMES, type AssetName } from "./asset-names.ts"
import { BUNDLED_ASSETS, buildAssets } from "./build-assets.ts"

/** Beside the bundle; beside this source there is no such folder. */
const FOLDER = fileURLToPath(new URL(`${BUNDLED_ASSETS}/`, import.meta.url))

/** Whether they are only read, so that a start may do it. */
export const ARE_SHIPPED: boolean = existsSync(FOLDER)

/** @throws Error when their sources do not build */
export const readAssets = async (): Promise<ReadonlyMap<AssetName, string | Uint8Array>> =>
  ARE_SHIPPED ? new Map(ASSET_NAMES.map(name => [name, readFileSync(FOLDER + name)])) : buildAssets()
