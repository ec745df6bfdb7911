/** The page with its response header. */
export type VerifyPage = {
  readonly html: string
  /** Its Content-Security-Policy, as in its meta element. */
  readonly policy: string
}

/** @throws Error when the page states no policy */
export function withPolicy(html: string): VerifyPage {
  const policy = /<meta http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1]
  if (policy === undefined) throw new Error("the page states no policy")
  return { html, policy }
}
