/** The page that verifies records in the visitor's browser. Decision 0050. */
import { utf8Encode } from "@runseal/canonical"
import { loadPage } from "@runseal/verify-page/load-page"
import type { ServedFile } from "../served-file.ts"
import { entityTag } from "../served-file.ts"

type VerifyPageFile = ServedFile & {
  readonly html: string
  /** Content-Security-Policy: the page's own, and that no other page frames it. */
  readonly policy: string
}

async function load(): Promise<VerifyPageFile> {
  const { html, policy } = await loadPage()
  const bytes = new Uint8Array(utf8Encode(html))
  return {
    html,
    type: "text/html; charset=utf-8",
    bytes,
    etag: entityTag(bytes),
    policy: `${policy}; frame-ancestors 'none'`,
  }
}

let loading: Promise<VerifyPageFile> | undefined

/** Loaded by the first request and cached; requests meanwhile wait for the same load, and a failure is not cached. */
export function verifyPage(): Promise<VerifyPageFile> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}
