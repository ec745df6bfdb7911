/**
 * Swagger UI's files as a package of ours ships them: to depend on its package would run a script at each install that
 * tells somebody of it. Decision 0083.
 */
import { readFileSync } from "node:fs"

const FOLDER = new URL("./swagger-ui/", import.meta.url)

export const readSwaggerUiFile = (name: string): Uint8Array => readFileSync(new URL(name, FOLDER))
