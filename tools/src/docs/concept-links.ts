/** First uses of the terms that docs/concepts.md explains. A page that uses a term links its first use to the heading there. */

/** A noun: "the run", "each run"; and not "it runs", "test runs". */
const RUN =
  "(?<=\\b(?:[Aa]|[Tt]he|[Ee]ach|[Ee]very|[Oo]ne|[Aa]ll|[Oo]f|[Nn]o|ok|that|these|which|seals and anchors) )runs?"

/** The heading of each term in docs/concepts.md, and the words by which pages use it. */
const TERMS: readonly (readonly [anchor: string, words: string])[] = [
  ["run", RUN],
  ["program_id", "`program_id`"],
  ["route_id", "`route_id`"],
  ["registry_record_hash", "`registry_record_hash`"],
  ["tenant", "[Tt]enants?"],
  ["gate", "[Gg]ates?"],
  ["kernel", "[Kk]ernels"],
  ["receipt", "[Rr]eceipts?"],
  ["leaf", "[Ll]eaf|(?<=\\b(?:the|for|[Ss]igns?) |\\()leaves"],
  ["anchor", "[Aa]nchors?|anchored"],
  ["trust-document", "[Tt]rust documents?"],
]

/** What is no sentence, or is generated, or is a link already: headings, code, generated tables, pictures and links. */
const NO_PROSE =
  /^#.*$|^```[\s\S]*?^```$|^<!-- (?:npm run|node )[\s\S]*?: end -->$|^<!--.*-->$|^\| `--.*$|`[^`\n]+`|!?\[(?:[^[\]]|`[^`]*`)*\]\([^)\s]*\)/gm

/** The text with everything but sentences blank, in its old length. @param code a term in backticks, which is not blanked */
const prose = (page: string, code: string): string =>
  page.replace(NO_PROSE, found => (found === code ? found : found.replace(/[^\n]/g, " ")))

/**
 * Terms whose first use on a page is no link to their heading, each with the offset of that use.
 * @param home path of docs/concepts.md, as this page links it
 */
export const unlinkedTerms = (
  page: string,
  home: string,
): readonly { readonly anchor: string; readonly at: number; readonly word: string }[] =>
  TERMS.flatMap(([anchor, words]) => {
    const use = new RegExp(words.startsWith("`") ? words : `(?<![\\w-/.])(?:${words})(?![\\w-/(])`).exec(
      prose(page, words),
    )
    const link = page.indexOf(`](${home}#${anchor})`)
    return use === null || (link !== -1 && link < use.index) ? [] : [{ anchor, at: use.index, word: use[0] }]
  })
