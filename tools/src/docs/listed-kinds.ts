/** Where the product lists kinds of sealed documents, and which files CONTRIBUTING names for a further one. */
import { readText } from "../rooms/repository-files.ts"
import type { SourceFile } from "../rooms/source-file.ts"

/** Kinds whose names mean nothing else, in any spelling: `permit_end`, `permitEnd`, `PermitEnd`, `permit-end`, `PERMIT_END`. */
const KINDS = [/permit[-_]?end(?![a-z])/i, /admin[-_]?event/i, /approval[-_]?request/i, /export[-_]?statement/i]
/** A file that names so many of them lists kinds. One that names fewer is of these kinds, or has a feature of theirs. */
const A_LIST = 3

/** The paths of files that list kinds of documents: a further kind would join each. @param product files of the product */
export const listsOfKinds = (product: readonly SourceFile[]): readonly string[] =>
  product.filter(({ text }) => KINDS.filter(name => name.test(text)).length >= A_LIST).map(({ path }) => path)

/** The files of the product that CONTRIBUTING names in "Adding a kind of document"; the kind's own files have `<kind>` in their names. */
export function filesOfKind(): readonly string[] {
  const [, section = ""] = /^## Adding a kind of document\n([\s\S]*?)^## /m.exec(readText("CONTRIBUTING.md")) ?? []
  return [...section.matchAll(/`((?:(?:apps|libs)\/\w+\/src\/[\w/-]+|\w+\/[\w-]*<kind>)\.ts)`/g)].map(
    ([, path = ""]) => path,
  )
}
