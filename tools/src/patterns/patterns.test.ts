import { isSafe } from "redos-detector"
import { describe, expect, test } from "vitest"
import { repositorySources } from "../rooms/repository-files.ts"
import { isTest } from "../rooms/source-file.ts"

/**
 * Patterns that may take more than linear time on some text, and why that text never comes, or is too short to matter. To
 * add a pattern to the code it is enough that it is not slow; to add one here it takes a reason.
 */
const SLOW_PATTERNS: Readonly<Record<string, string>> = {
  "/\\n\\(Did you mean (.*)\\?\\)$/": "Of an option that the operator mistyped.",
  "/^option '[^']*' value '.*' from env '(\\w+)' is invalid/s": "Of a variable that the operator mistyped.",
  "/^(postgres(?:ql)?:\\/\\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s": "An option of the operator's.",
  "/^(?:[a-z0-9-]+(?:\\.[a-z0-9-]+)*:\\d+|[a-z0-9-]+(?:\\.[a-z0-9-]+)+(?=\\/))(?:\\/|$)/i":
    "An argument of the auditor's own command line.",
  "/ argument '.*' is invalid/s": "Of an option that the operator mistyped.",
  "/\\/+$/": "The address of a reviewer, an option of the operator's.",
  "/(?:^|,)[ \\t]*chunked$/i": "A comma ends every try; the header is bounded.",
  "/\\\\[xpP]\\{[^}]*\\}|\\\\x[0-9a-f]{2}|\\\\.|\\[\\^?(?:\\\\.|[^\\]\\\\])+\\]/gis":
    "A signature of the operator's library.",
  "/\\\\[xpP]\\{[^}]*\\}|\\\\./g": "A signature of the operator's library.",
  "/.*?[A-Za-z0-9]-(?=[A-Za-z])|.+/g": "Whatever the first half passes over in vain, the second half takes whole.",
  '/<meta http-equiv="Content-Security-Policy" content="([^"]+)"/': "A page of our own.",
  "/<title>[^<]*<\\/title>/": "A page of our own.",
  "/<h1>[^<]*<\\/h1>/": "A page of our own.",
  "/^ +| +$/g": "A header field of at most 1024 characters.",
  "/\\[([^\\]]*)\\]\\([^)]*\\)/g": "A help text of our own.",
  "/^ +at .*\\/(?:apps|libs|@runseal)\\/([\\w-]+)\\/(?:src|dist)\\/(?!bundle\\/drizzle-orm\\/)([\\w./-]+):(\\d+):\\d+\\)?$/":
    "A line that the runtime wrote behind an error's message: a name and a path.",
  "/.{1,24}?(?:[-/_.:@\\s]+|$)|.{24}/gsu": "Nothing follows what ends a word, and a try passes over 24 characters.",
  "/attribute `((?:\\w{1,64}\\.){0,2})(\\w{1,64})` in context .* not found/":
    "What the engine says of a condition, which has 8,192 characters at most and is an administrator's.",
  "/ \\(\\d+\\)$/": "A label of our own page.",
  '/"url":"(http:[^"]+)".*"msg":"listening"/': "Output of the service that the gateway itself starts.",
  "/^([\\w-]+):\\s*(.*)$/": "An option of the user's own command line.",
  "/\\$\\{(\\w+)\\}/g": "A header of the user's own settings.",
  "/(?<=.)@.*$/": "A word of the user's own command line.",
  "/\\.\\w+$/": "The address of a page, which is bounded; a dot ends every try.",
  "/#.*$/": "The address of the page itself.",
  '/\\svalue="[^"]*"/': "A tag of a page of our own, in which every value is escaped.",
  "/<main\\b[^>]*>/": "A page of our own.",
  "/^(?=.{1,32}$)[\\p{L}\\p{N}]+(?:[ ._-][\\p{L}\\p{N}]+)*$/u":
    "An option of the operator's, of 32 characters at most.",
  "/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\\s]+-----END CERTIFICATE-----/g": "A hyphen ends every try.",
}

/** What runs at users' and operators': tests and tools read only what we wrote. */
const SHIPPED = /^(?:libs|apps)\/[^/]+\/src\//
const TIMEOUT_MS = 300_000
const MAX_CHECK_MS = 20_000

const sources = repositorySources().filter(({ path }) => SHIPPED.test(path) && !isTest(path))
const places = new Map(sources.flatMap(({ path, patterns }) => patterns.map(({ literal }) => [literal, path] as const)))
const patterns = [...places].map(([literal, path]) => ({ literal, path }))

/** Whether no text makes a backtracking engine take more than linear time. */
function isLinear(literal: string): boolean {
  const end = literal.lastIndexOf("/")
  return isSafe(new RegExp(literal.slice(1, end), literal.slice(end + 1)), { timeout: MAX_CHECK_MS }).safe
}

describe("no text of a stranger keeps a regular expression busy", () => {
  test("all of them are found", () => {
    expect(patterns.length).toBeGreaterThan(100)
  })

  test.each(patterns)("$literal of $path", { timeout: TIMEOUT_MS }, ({ literal }) => {
    expect(isLinear(literal) || Object.hasOwn(SLOW_PATTERNS, literal)).toBe(true)
  })

  test("every exception still stands in the code, and is one", { timeout: TIMEOUT_MS }, () => {
    for (const literal of Object.keys(SLOW_PATTERNS)) expect([literal, places.has(literal)]).toEqual([literal, true])
    expect(Object.keys(SLOW_PATTERNS).filter(isLinear)).toEqual([])
  })

  test("patterns put together at run time are known", () => {
    const made = sources.filter(({ code }) => /\bnew RegExp\(|(?<![.\w])RegExp\(/.test(code)).map(({ path }) => path)
    expect(made).toEqual([
      // Tags of a page of our own, in which every value is escaped.
      "apps/console/src/parts/page-forms.ts",
      // Counts of digits and letters of our own.
      "apps/otlp/src/trace-request.ts",
      "apps/server/src/http/access/sessions.ts",
      "apps/server/src/options/identity-options.ts",
      "libs/core/src/act/act-table.ts",
      // Labels of a host, whose ends are counted.
      "libs/core/src/artifacts/passkey.ts",
      // Runs of one character after another, and nothing after the run that could fail.
      "libs/core/src/presentation/unseen-characters.ts",
      // Patterns of the table of endpoints, on what the caller of a method gives.
      "libs/sdk/src/calls.ts",
      "libs/sdk/src/exchange.ts",
    ])
  })
})

describe("the checker knows", () => {
  test.each([/^(a+)+$/, /^(?:a|a)*$/, /^\d+\.?\d*$/, /(x+x+)+y/])("%s as slow", pattern => {
    expect(isLinear(`${pattern}`)).toBe(false)
  })
  test.each([/^[0-9a-f]{64}$/, /^[a-z]+(?:-[a-z]+)?$/])("%s as quick", pattern => {
    expect(isLinear(`${pattern}`)).toBe(true)
  })
})
