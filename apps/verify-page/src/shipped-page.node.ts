/** The page of a server in a package, built when the package was made. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type VerifyPage, withPolicy } from "./page-policy.node.ts"

/** Where `npm run build` writes the page. */
export const BUILT: string = fileURLToPath(new URL("../dist/verify.html", import.meta.url))

/** @throws Error when it cannot be read */
export const loadPage = async (): Promise<VerifyPage> => withPolicy(readFileSync(BUILT, "utf8"))
