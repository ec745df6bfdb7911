/**
 * Citations in comments, strings and pages. Each names something that a reader can open: a section of docs/formats.md, a heading of
 * another page, a decision record, a file of this repository, a part of a public standard.
 */

/** The places that citations may name. */
export interface Citable {
  /** Whether a path from the root is a file or folder of the repository. */
  readonly exists: (path: string) => boolean
  /** Headings of a page, without their marks; none for a page that does not exist. */
  readonly headings: (page: string) => readonly string[]
  /** Numbers of the decision records, four digits each. */
  readonly decisions: ReadonlySet<string>
}

const FORMATS = "docs/formats.md"
const SECTIONS = /docs\/formats\.md,? sections? (\d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*)/g
const HEADINGS = /\b((?:docs\/[\w/-]+|README|CONTRIBUTING|SECURITY)\.md),((?:(?: and|,)? "[^"]+")+)/g
const DECISIONS = /\b[Dd]ecisions? (\d{4}(?:(?:, | and )\d{4})*)/g
/** `apps/v1` is Kubernetes'; files in `dist` are built. */
const PATHS =
  /(?<![\w./@{-])(?:apps|libs|tools|docs|deploy|examples)\/(?!v1\b|call\b|list\b|[\w./-]*\bdist\b)[\w./-]*\w/g
const UNKNOWN =
  /\b(?:FORMATS|ENGINE|HOUSE)\b|(?<!COMPLETE )\bRECORD\b|\b[Tt]he (?:interface )?specification\b|\b[Ss]pecification, "/g
const STANDARD = /\b(?:RFC \d+|ISO \d+|X\.690|FIPS \d+|SP 800|SEC 1|EN \d+|WHATWG|ECMA-262)/
/** Characters before a section mark within which its standard has to be named. */
const STANDARD_WITHIN = 200

/** The lines of a comment or a page as one line. */
const onOneLine = (text: string): string => text.replace(/\s*\n\s*(?:\*(?!\/)|\/\/)?\s*/g, " ")

/** Sections, headings and decision records that `text` cites and that do not exist, as a reader would look for them. */
export function brokenCitations(text: string, citable: Citable): readonly string[] {
  const line = onOneLine(text)
  const sections = new Set(citable.headings(FORMATS).map(heading => heading.split(" ")[0]))
  return [
    ...listed(line, SECTIONS)
      .filter(section => !sections.has(section))
      .map(section => `section ${section}`),
    ...brokenHeadings(line, citable),
    ...listed(line, DECISIONS)
      .filter(decision => !citable.decisions.has(decision))
      .map(decision => `decision ${decision}`),
  ]
}

/** Files that `text` names and that do not exist, and documents that are not in the repository. */
export function unknownDocuments(text: string, { exists }: Pick<Citable, "exists">): readonly string[] {
  const line = onOneLine(text)
  const paths = [...line.matchAll(PATHS)].map(([path]) => path)
  const parts = [...line.matchAll(/§[\d.]*/g)].filter(
    ({ index }) => !STANDARD.test(line.slice(Math.max(0, index - STANDARD_WITHIN), index)),
  )
  return [
    ...paths.filter(path => !exists(path)),
    ...[...line.matchAll(UNKNOWN)].map(([name]) => name),
    ...parts.map(([part]) => part),
  ]
}

const listed = (line: string, citation: RegExp): readonly string[] =>
  [...line.matchAll(citation)].flatMap(([, list = ""]) => list.split(/, | and | to /))

/** docs/formats.md is cited by section. A heading of docs/api.md may name several endpoints; each may be cited alone. */
function brokenHeadings(line: string, { headings }: Citable): readonly string[] {
  return [...line.matchAll(HEADINGS)].flatMap(([, page = "", list = ""]) => {
    const known = page === FORMATS ? [] : headings(page).flatMap(heading => [heading, ...heading.split(", ")])
    return [...list.matchAll(/"([^"]+)"/g)]
      .filter(([, cited = ""]) => !known.includes(cited))
      .map(([quoted]) => `${page}, ${quoted}`)
  })
}
