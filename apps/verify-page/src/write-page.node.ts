/** `npm run build`: writes the page where it can be opened from disk or put into a package. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { buildPage } from "./build-page.node.ts"
import { BUILT } from "./shipped-page.node.ts"

mkdirSync(dirname(BUILT), { recursive: true })
writeFileSync(BUILT, await buildPage())
