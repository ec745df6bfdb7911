/** Makes the page one file: script and style stand in it, and its policy allows these two by their hashes and nothing else. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { encodeBase64, sha256, utf8Encode } from "@runseal/canonical"

const FOLDER = fileURLToPath(new URL("./page/", import.meta.url))

/** The sources of the page; a package that ships it built has none. */
export const ENTRY: string = `${FOLDER}main.ts`

/** What would end a script element early. HTML Standard, "Restrictions for contents of script elements". */
const ENDS_SCRIPT = /<\/script|<!--|<script/i

/** @throws Error when the sources do not build */
export async function buildPage(): Promise<string> {
  const script = await bundled(ENTRY)
  const style = await bundled(`${FOLDER}page.css`)
  if (ENDS_SCRIPT.test(script) || /<\/style/i.test(style)) throw new Error("the page's script or style would end early")
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    "img-src data:",
    // The trust document and the published bundle of the service that serves the page; a file has no 'self'.
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    // No text of a document ever becomes markup: the browser itself refuses the attempt.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ")
  const parts: Readonly<Record<string, string>> = { policy, style, script }
  return readFileSync(`${FOLDER}page.html`, "utf8").replace(
    /\/\*(policy|style|script)\*\//g,
    (_, name) => parts[name] ?? "",
  )
}

/** Loaded when it is needed: a package that ships the page built needs no bundler. */
async function bundled(entry: string): Promise<string> {
  const { build } = await import("esbuild")
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    platform: "browser",
    format: "iife",
    target: "es2022",
    charset: "utf8",
    logLevel: "silent",
  })
  const [file] = outputFiles
  if (file === undefined) throw new Error("the page was not built")
  return file.text.trim()
}

/** CSP Level 3, "hash-source". */
const hashOf = (text: string): string => `sha256-${encodeBase64(sha256(utf8Encode(text)))}`
