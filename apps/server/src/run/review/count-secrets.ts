/** Secrets: the rules of Secretlint's recommended preset, and own RE2 rules for what the preset ignores. */

import { MAX_FINDINGS_PER_RULE } from "@runseal/core/vocabulary/review-codes"
import { rules as presetRules } from "@secretlint/secretlint-rule-preset-recommend"
import { RE2JS } from "re2js"
import { countFindings, matches } from "./findings.ts"

type PresetRule = (typeof presetRules)[number]
type PresetContext = Parameters<PresetRule["create"]>[0]
type PresetSource = Parameters<NonNullable<ReturnType<PresetRule["create"]>["file"]>>[0]

/**
 * Removed from the preset: it obeys `secretlint-disable` comments in the text, and the text is not trusted.
 */
const COMMENT_FILTER = "@secretlint/secretlint-rule-filter-comments"

/** A preset rule by its short name, for instance `secretlint-rule-github`. */
interface SecretRule {
  readonly id: string
  readonly count: (text: string) => number
}

const ORIGIN = { line: 1, column: 0 }

/** A text as the rules want it. The name `.npmrc` makes the npm rule look for registry tokens too. */
function sourceOf(content: string): PresetSource {
  return {
    content,
    hasBOM: false,
    filePath: ".npmrc",
    physicalFilePath: undefined,
    contentType: "text",
    ext: "",
    getFilePath: () => ".npmrc",
    getPhysicalFilePath: () => undefined,
    locationToRange: () => [0, 0],
    rangeToLocation: () => ({ start: ORIGIN, end: ORIGIN }),
    positionToIndex: () => 0,
    indexToPosition: () => ORIGIN,
  }
}

/**
 * Runs one rule by Secretlint's rule interface. Its own runner keeps performance marks of every text for the life of
 * the process and compares all findings pairwise; a count needs neither, and no finding's text is ever built.
 */
function countByRule(rule: PresetRule, content: string): number {
  let count = 0
  const context: PresetContext = {
    sharedOptions: {},
    createTranslator: () => () => ({ message: "", messageId: "", data: undefined }),
    report: () => {
      count += 1
    },
    ignore: () => undefined,
  }
  const pending = rule.create(context, {}).file?.(sourceOf(content))
  if (pending instanceof Promise) throw new Error(`Rule ${rule.meta.id} does not answer at once.`)
  return Math.min(count, MAX_FINDINGS_PER_RULE)
}

/** The preset's rules, all of them linear in the text. */
export const PRESET_RULES: readonly SecretRule[] = presetRules
  .filter(rule => rule.meta.id !== COMMENT_FILTER)
  .map(rule => ({
    id: rule.meta.id.replace("@secretlint/", ""),
    count: text => countByRule(rule, text),
  }))

/** A private key block with content: the preset passes over small (Ed25519), encrypted, truncated, PGP and PuTTY keys. */
const PRIVATE_KEY = RE2JS.compile(
  "(?:-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?s:.{0,200}?)|Private-Lines: \\d+\\s+)[A-Za-z0-9+/]{40}",
)
export const countPrivateKeys = (text: string): number => countFindings(matches(PRIVATE_KEY, text), () => true)

const API_KEY = RE2JS.compile("\\bAIza[A-Za-z0-9_-]{35}|\\bAccountKey=[A-Za-z0-9+/]{86}==")
/** Google API keys and Azure storage account keys. */
export const countApiKeys = (text: string): number => countFindings(matches(API_KEY, text), () => true)

const TOKEN = RE2JS.compile(
  "\\beyJ[A-Za-z0-9_-]{8,}\\.eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{16,}|\\b(?:AKIA|ASIA)[A-Z0-9]{16}\\b|(?i:\\bauthorization[\"']?\\s*:\\s*[\"']?(?:bearer|basic)\\s+)[A-Za-z0-9._~+/-]{16,}",
)
/** The key id that AWS prints in its documentation. */
const AWS_EXAMPLE_ID = "AKIAIOSFODNN7EXAMPLE"
/** JSON web tokens, AWS access key ids, authorization headers: public, expired or secret, the text does not tell. */
export const countTokens = (text: string): number =>
  countFindings(matches(TOKEN, text), ({ text: found }) => found !== AWS_EXAMPLE_ID)

const ASSIGNMENT = RE2JS.compile(
  "(?i)\\b(?:password|passwd|pwd|passphrase|secret|api[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret)[\"']?\\s*(?:=>|:|=|\\bis\\b)\\s*[\"'`]?[^\\s\"'`<>{}$%*]{8,128}",
)
const hasLetterAndDigit = (text: string): boolean => /[a-z]/i.test(text) && /\d/.test(text)
/** A name like `password` given a value of eight or more characters with letters and digits. */
export const countAssignments = (text: string): number =>
  countFindings(matches(ASSIGNMENT, text), ({ text: found }) =>
    hasLetterAndDigit(found.replace(/^.*?(?:=>|:|=|\bis\b)\s*["'`]?/is, "")),
  )
