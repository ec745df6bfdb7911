import { basename } from "node:path"
import { lineOf } from "./scan-source.ts"
import { isTest, type SourceFile, type Violation } from "./source-file.ts"
import {
  EMPTY_NAMES,
  INDEX_FILES,
  MAX_LINES,
  MAX_TEST_LINES,
  type PatternRule,
  SOURCE_RULES,
  TEXT_RULES,
} from "./tidy-rules.ts"

/** Length, index files and the pattern rules of one source. */
export function checkSource(file: SourceFile): Violation[] {
  return [
    ...checkLength(file),
    ...checkIndex(file.path),
    ...SOURCE_RULES.flatMap(rule => matches(rule, file.path, file[rule.view])),
  ]
}

/** The rules that bind every text file, sources included. */
export function checkText(path: string, text: string): Violation[] {
  return TEXT_RULES.flatMap(rule => matches(rule, path, text))
}

/** No file or folder is named for nothing. */
export function checkName(path: string): Violation[] {
  const empty = path.split("/").find(part => EMPTY_NAMES.has(part.replace(/\..*$/, "")))
  return empty === undefined ? [] : [{ path, line: 1, rule: `name: ${empty} says nothing about what is inside` }]
}

function checkLength({ path, text }: SourceFile): Violation[] {
  const limit = isTest(path) ? MAX_TEST_LINES : MAX_LINES
  const lines = lineOf(text, text.length) - (text.endsWith("\n") ? 1 : 0)
  return lines <= limit ? [] : [{ path, line: limit + 1, rule: `length: ${lines} lines, more than ${limit}` }]
}

function checkIndex(path: string): Violation[] {
  if (!/^index\.[cm]?[jt]s$/.test(basename(path)) || INDEX_FILES.has(path)) return []
  return [{ path, line: 1, rule: "name: an index hides structure; import the file that has the code" }]
}

function matches({ rule, pattern, binds }: PatternRule, path: string, view: string): Violation[] {
  if (binds !== undefined && !binds(path)) return []
  const everywhere = new RegExp(pattern.source, `${pattern.flags}g`)
  return [...view.matchAll(everywhere)].map(match => {
    const leading = /^\s*/.exec(match[0])?.[0].length ?? 0
    return { path, line: lineOf(view, match.index + leading), rule }
  })
}
