/** Bundles the page into one file with inline script and style; its policy allows these two by their hashes and nothing else. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { encodeBase64, sha256, utf8Encode } from "@runseal/canonical"
import { ICON, siteHeader } from "./face/site-header.ts"
import { type FontName, readFont } from "./face/typeface.node.ts"

const FOLDER = fileURLToPath(new URL("./page/", import.meta.url))

/** The first of its sources. */
const ENTRY: string = `${FOLDER}main.ts`

/** What would end a script element early. HTML Standard, "Restrictions for contents of script elements". */
const ENDS_SCRIPT = /<\/script|<!--|<script/i

/** @throws Error when the sources do not build */
export async function buildPage(): Promise<string> {
  const [script = "", sheet = ""] = await bundled([ENTRY, `${FOLDER}page.css`])
  const style = FONTS.reduce((text, name) => text.replace(name, () => fontAddress(name)), sheet)
  if (ENDS_SCRIPT.test(script) || /<\/style/i.test(style)) throw new Error("the page's script or style would end early")
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    // The typeface is in the page, so that the page is one file.
    "font-src data:",
    "img-src data:",
    // The trust document and the published bundle of the serving origin; a file has no 'self'.
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    // No text of a document ever becomes markup: the browser itself refuses the attempt.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ")
  const parts: Readonly<Record<string, string>> = {
    policy,
    style,
    script,
    icon: ICON,
    head: siteHeader({ root: "", here: "verify" }),
  }
  return readFileSync(`${FOLDER}page.html`, "utf8").replace(
    /\/\*(policy|style|script|icon|head)\*\//g,
    (_, name) => parts[name] ?? "",
  )
}

/** Two weights of one face: a third, for hashes, would be as large as all the words of the page. */
const FONTS: readonly FontName[] = ["plex-sans-400.woff2", "plex-sans-600.woff2"]

const fontAddress = (name: FontName): string => `data:font/woff2;base64,${encodeBase64(readFont(name))}`

/** The entries as the text of one file each. The bundler is loaded with the first page: no start waits for it. */
async function bundled(entries: readonly string[]): Promise<readonly string[]> {
  const { build, stop } = await import("esbuild")
  try {
    const builds = await Promise.all(
      entries.map(entry => build({ ...BUNDLING, external: ["*.woff2"], entryPoints: [entry] })),
    )
    return builds.flatMap(({ outputFiles }) => outputFiles.map(({ text }) => text.trim()))
  } finally {
    // Without this, esbuild's process would live as long as this one.
    await stop()
  }
}

const BUNDLING = {
  bundle: true,
  minify: true,
  write: false,
  platform: "browser",
  format: "iife",
  target: "es2022",
  charset: "utf8",
  logLevel: "silent",
} as const

/** CSP Level 3, "hash-source". */
const hashOf = (text: string): string => `sha256-${encodeBase64(sha256(utf8Encode(text)))}`
