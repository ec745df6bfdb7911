/** The page as a server in a checkout sends it: built of its sources as they are. A package has shipped-page.node.ts in its place. */
import { buildPage } from "./build-page.node.ts"
import { type VerifyPage, withPolicy } from "./page-policy.node.ts"

/** @throws Error when its sources do not build */
export const loadPage = async (): Promise<VerifyPage> => withPolicy(await buildPage())
