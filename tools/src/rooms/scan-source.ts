/** A source text split into code, comments and literals; each view has the length and the line ends of the text. */
export interface Scan {
  /** Code alone: comments and the text between quotes are blank, the quotes remain. */
  readonly code: string
  /** Comments alone. */
  readonly comments: string
  readonly imports: readonly ImportStatement[]
  readonly patterns: readonly PatternLiteral[]
}

/** A regular expression as it is written: `/source/flags`. */
export interface PatternLiteral {
  readonly literal: string
  readonly at: number
}

export interface ImportStatement {
  /** The module as written between the quotes. */
  readonly specifier: string
  /** Imported or re-exported names as the module exports them; "*" for all of them, none for a side effect. */
  readonly names: readonly string[]
  /** Index of the opening quote. */
  readonly at: number
}

const SPACE = /\s+/y
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y
const QUOTE = /["']/y
const DOUBLE_QUOTED = /(?:[^"\\\n]|\\[\s\S])*/y
const SINGLE_QUOTED = /(?:[^'\\\n]|\\[\s\S])*/y
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
const TEMPLATE_TEXT = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y
const TEMPLATE_STOP = /`|\$\{/y
const WORD_OR_MARK = /[\w$]+|[\s\S]/y

/** Tokens after which a slash divides; after any other it begins a regular expression. */
const ENDS_OPERAND =
  /^(?!(?:return|typeof|case|in|of|do|else|void|delete|throw|new|await|yield)$)(?:[\w$]+|[)\]}"'`/])$/

const STATEMENT =
  /\b(?:import|export)\b\s*(?:type\b\s*)?((?:[\w$]+\s*,?\s*)?(?:\{[^{}]*\}|\*(?:\s*as\s+[\w$]+)?)?)\s*\bfrom\s*["']/g
const BARE = /\b(?:import\s*\(?|require\s*\()\s*["'`]/g

/** Reads TypeScript without a parser: enough to tell code from comments and literals, and to find every import. */
export function scanSource(text: string): Scan {
  const reader: Reader = { text, at: 0, previous: "", braces: [], patterns: [], code: "", comments: "" }
  while (reader.at < text.length) readToken(reader)
  const { code, comments, patterns } = reader
  return { code, comments, imports: importsOf(code, text), patterns }
}

/** Line, from 1, of index `at`. */
export function lineOf(text: string, at: number): number {
  return text.slice(0, at).split("\n").length
}

interface Reader {
  readonly text: string
  /** For each template literal that is being filled in, the braces open within its substitution. */
  readonly braces: number[]
  readonly patterns: PatternLiteral[]
  at: number
  /** The last token that is neither white space nor comment. */
  previous: string
  code: string
  comments: string
}

function readToken(reader: Reader): void {
  if (take(reader, SPACE, "code") || take(reader, COMMENT, "comments")) return
  const quote = take(reader, QUOTE, "code")
  if (quote !== "") {
    take(reader, quote === '"' ? DOUBLE_QUOTED : SINGLE_QUOTED, "literal")
    take(reader, QUOTE, "code")
    reader.previous = quote
  } else if (!ENDS_OPERAND.test(reader.previous) && takePattern(reader)) {
    reader.previous = "/"
  } else {
    reader.previous = take(reader, WORD_OR_MARK, "code")
    followTemplates(reader, reader.previous)
  }
}

function takePattern(reader: Reader): boolean {
  const { at } = reader
  const literal = take(reader, REGEX, "literal")
  if (literal !== "") reader.patterns.push({ literal, at })
  return literal !== ""
}

/** Moves the reader over what `pattern` matches here, copying it into one view and blanks into the others. */
function take(reader: Reader, pattern: RegExp, view: "code" | "comments" | "literal"): string {
  pattern.lastIndex = reader.at
  const found = pattern.exec(reader.text)?.[0] ?? ""
  const blank = found.replace(/[^\n]/g, " ")
  reader.at += found.length
  reader.code += view === "code" ? found : blank
  reader.comments += view === "comments" ? found : blank
  return found
}

/** Reads template text after a backtick and after the brace that ends a substitution. */
function followTemplates(reader: Reader, token: string): void {
  const last = reader.braces.length - 1
  const open = reader.braces[last]
  const endsSubstitution = token === "}" && open === 0
  if (endsSubstitution) reader.braces.pop()
  else if (open !== undefined && token === "{") reader.braces[last] = open + 1
  else if (open !== undefined && token === "}") reader.braces[last] = open - 1
  if (token !== "`" && !endsSubstitution) return
  take(reader, TEMPLATE_TEXT, "literal")
  reader.previous = take(reader, TEMPLATE_STOP, "code")
  if (reader.previous === "${") reader.braces.push(0)
}

function importsOf(code: string, text: string): ImportStatement[] {
  const found: ImportStatement[] = []
  for (const match of code.matchAll(STATEMENT)) {
    found.push(importAt(text, match.index + match[0].length - 1, namesOf(match[1] ?? "")))
  }
  for (const match of code.matchAll(BARE)) {
    found.push(importAt(text, match.index + match[0].length - 1, match[0].includes("(") ? ["*"] : []))
  }
  return found
}

function importAt(text: string, quoteAt: number, names: readonly string[]): ImportStatement {
  const end = text.indexOf(text.charAt(quoteAt), quoteAt + 1)
  return { specifier: text.slice(quoteAt + 1, end === -1 ? undefined : end), names, at: quoteAt }
}

/** `a, { b as c, type d }` → default, b, d. */
function namesOf(clause: string): string[] {
  const [before = "", inside = ""] = clause.split(/[{}]/)
  const named = inside.split(",").map(part =>
    part
      .trim()
      .replace(/^type\s+/, "")
      .replace(/\s+as\s[\s\S]*$/, ""),
  )
  const whole = before.includes("*") ? ["*"] : []
  const byDefault = /^[\w$]+/.test(before.trim()) ? ["default"] : []
  return [...byDefault, ...whole, ...named.filter(name => name !== "")]
}
