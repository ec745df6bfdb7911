/** `npm run build`: writes the assets where they can be put into a package. */
import { mkdirSync, writeFileSync } from "node:fs"
import { buildAssets } from "./build-assets.ts"
import { BUILT_ASSETS } from "./shipped-assets.ts"

mkdirSync(BUILT_ASSETS, { recursive: true })
for (const [name, content] of await buildAssets()) writeFileSync(BUILT_ASSETS + name, content)
