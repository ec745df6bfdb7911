/** The page as a server sends it. A checkout builds it of its sources as they are; a package ships it built. */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { buildPage, ENTRY } from "./build-page.node.ts"

/** Where `npm run build` writes the page. */
export const BUILT: string = fileURLToPath(new URL("../dist/verify.html", import.meta.url))

export type VerifyPage = {
  readonly html: string
  /** Its Content-Security-Policy, as its head states it. */
  readonly policy: string
}

/** @throws Error when it can neither be built nor read */
export async function loadPage(): Promise<VerifyPage> {
  const html = existsSync(ENTRY) ? await buildPage() : readFileSync(BUILT, "utf8")
  const policy = /<meta http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1]
  if (policy === undefined) throw new Error("the page states no policy")
  return { html, policy }
}
