/** The files that pages load. An island is one script, which runs on the pages that name it. */
export const ASSET_NAMES = ["console.css", "run.js", "tail.js", "log.js", "approval.js", "passkey.js"] as const
export type AssetName = (typeof ASSET_NAMES)[number]
