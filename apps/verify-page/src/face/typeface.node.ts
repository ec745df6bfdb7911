/** The files of the typeface, that of reports: subsets for Latin scripts, as their packages ship them. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

/** Names by which style sheets call the files, and where these are. */
const FILES = {
  "plex-sans-400.woff2": "@fontsource/ibm-plex-sans/files/ibm-plex-sans-latin-400-normal.woff2",
  "plex-sans-600.woff2": "@fontsource/ibm-plex-sans/files/ibm-plex-sans-latin-600-normal.woff2",
  "plex-mono-400.woff2": "@fontsource/ibm-plex-mono/files/ibm-plex-mono-latin-400-normal.woff2",
} as const

/** A file of the typeface. */
export type FontName = keyof typeof FILES

/** @throws Error when its package is not installed */
export const readFont = (name: FontName): Uint8Array =>
  readFileSync(createRequire(import.meta.url).resolve(FILES[name]))
