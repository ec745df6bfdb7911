/** The address of the page, and the addresses it may fetch there. */

export type Place = {
  /** Addresses of the service that served the page; absent when it was opened from disk. */
  readonly service?: {
    readonly host: string
    readonly trust: string
    /** Bundle of the published run that the page is about. */
    readonly bundle?: string
  }
}

/** Relative to the page, so that it works behind a proxy that adds a prefix. */
export function placeOf({ protocol, host, pathname }: Pick<Location, "protocol" | "host" | "pathname">): Place {
  if (protocol !== "https:" && protocol !== "http:") return {}
  const [, token] = /\/public\/runs\/([0-9a-f]{32})$/.exec(pathname) ?? []
  const trust = ".well-known/runseal-trust.json"
  return {
    service: token === undefined ? { host, trust } : { host, trust: `../../${trust}`, bundle: `${token}/bundle.json` },
  }
}
