/** Swagger UI's files as its package has them. A package of ours has swagger-ui.shipped.ts in its place. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

export const readSwaggerUiFile = (name: string): Uint8Array =>
  readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)))
