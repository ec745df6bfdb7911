/** The address of the page, and the addresses it may fetch there. */

export type Place = {
  /** Addresses of the service that served the page; absent when it was opened from disk. */
  readonly service?: {
    readonly host: string
    readonly trust: string
    /** Bundle of the run that the page is about, and whether everybody reads it or who has the address. */
    readonly linked?: { readonly as: "published" | "shared"; readonly bundle: string }
  }
}

/** Relative to the page, so that it works behind a proxy that adds a prefix. */
export function placeOf({ protocol, host, pathname }: Pick<Location, "protocol" | "host" | "pathname">): Place {
  if (protocol !== "https:" && protocol !== "http:") return {}
  const [, folder, token] = /\/(public\/runs|shared)\/([0-9a-f]{32})$/.exec(pathname) ?? []
  const trust = ".well-known/runseal-trust.json"
  if (token === undefined) return { service: { host, trust } }
  const bundle = `${token}/bundle.json`
  return folder === "shared"
    ? { service: { host, trust: `../${trust}`, linked: { as: "shared", bundle } } }
    : { service: { host, trust: `../../${trust}`, linked: { as: "published", bundle } } }
}
