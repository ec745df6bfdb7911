/** The files that pages load: style sheets, the typeface, and islands. An island is one script, which runs on the pages that name it. */
export const ASSET_NAMES = [
  "plex-sans-400.woff2",
  "plex-sans-600.woff2",
  "plex-mono-400.woff2",
  "console.css",
  "site.css",
  "docs.css",
  "page.js",
  "session.js",
  "run.js",
  "tail.js",
  "log.js",
  "approval.js",
  "passkey.js",
  "docs.js",
  "live.js",
] as const
export type AssetName = (typeof ASSET_NAMES)[number]

/** Files of pages that the console does not make: they are also served under these names. */
export const NAMED_ASSETS: readonly AssetName[] = ["site.css", "docs.css", "docs.js"]
