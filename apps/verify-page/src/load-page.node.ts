/** The page of a server in a checkout, built from its sources. In a package, shipped-page.node.ts takes its place. */
import { buildPage } from "./build-page.node.ts"
import { type VerifyPage, withPolicy } from "./page-policy.node.ts"

/** @throws Error when its sources do not build */
export const loadPage = async (): Promise<VerifyPage> => withPolicy(await buildPage())
