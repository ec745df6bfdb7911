/** The assets of a server in a checkout, built from their sources. In a package, shipped-assets.ts takes this place. */
import type { AssetName } from "./asset-names.ts"
import { buildAssets } from "./build-assets.ts"

/** They are built for the first page that needs them, and not at every start. */
export const ARE_SHIPPED = false

/** @throws Error when their sources do not build */
export const readAssets = (): Promise<ReadonlyMap<AssetName, string | Uint8Array>> => buildAssets()
