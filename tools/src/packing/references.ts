/** Where a compiled module names another module or a file beside it. */

/** `from "…"`, `import "…"`, `import("…")`. */
const MODULE_NAME = /(\bfrom |\bimport |\bimport\()"([^"\n]+)"/g
/** `new URL("…", import.meta.url)`: the module of a thread, a file or a folder. */
const ADDRESS = /(\bnew URL\()"([^"\n]+)"(?=, import\.meta\.url\))/g

/** Every name in a module's text, as it stands there. */
export function referencesIn(text: string): readonly string[] {
  return [MODULE_NAME, ADDRESS].flatMap(pattern => [...text.matchAll(pattern)].map(([, , name = ""]) => name))
}

/** The text with each of these names replaced. */
export function withReferences(text: string, renamed: (name: string) => string): string {
  return [MODULE_NAME, ADDRESS].reduce(
    (before, pattern) => before.replace(pattern, (_, opening: string, name: string) => `${opening}"${renamed(name)}"`),
    text,
  )
}
