/** The assets of a server in a package, built when the package was made. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { ASSET_NAMES, type AssetName } from "./asset-names.ts"

export const ARE_SHIPPED = true

/** Folder into which `npm run build` writes them. */
export const BUILT_ASSETS: string = fileURLToPath(new URL("../../dist/assets/", import.meta.url))

/** @throws Error when one cannot be read */
export const readAssets = async (): Promise<ReadonlyMap<AssetName, Uint8Array>> =>
  new Map(ASSET_NAMES.map(name => [name, readFileSync(BUILT_ASSETS + name)]))
