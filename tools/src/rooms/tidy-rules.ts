import { isTest, isWithin } from "./source-file.ts"

/** A pattern no text may contain. To add a rule, add its row. */
export interface PatternRule {
  /** The message of a violation. */
  readonly rule: string
  /** Where to look: code without comments and literals, comments alone, or everything. */
  readonly view: "code" | "comments" | "text"
  readonly pattern: RegExp
  /** Files it binds; all when absent. */
  readonly binds?: (path: string) => boolean
}

const notTest = (path: string): boolean => !isTest(path)
/** The only files of the libraries that use clock, randomness and network; all others take them as arguments. */
const SDK_PLATFORM = "libs/sdk/src/platform.ts"
const PERMIT_PLATFORM = "libs/permit/src/clock-and-network.ts"
const PLATFORMS: ReadonlySet<string> = new Set([SDK_PLATFORM, PERMIT_PLATFORM])
const library = (path: string): boolean => isWithin(path, "libs") && notTest(path) && !PLATFORMS.has(path)
/** What is shipped, without its tests. */
const shipped = (path: string): boolean => /^(?:apps|libs)\/[\w-]+\/src\//.test(path) && notTest(path)
/**
 * The only files that send requests: to an address that the operator (reviewer, witness, signer), the user (verifier, its page) or the program that uses
 * the client gave. docs/security-model.md, "Addresses that are asked".
 */
const HTTP_CLIENTS: ReadonlySet<string> = new Set([
  "apps/hooks/src/service-request.ts",
  "apps/mcp/src/http-gateway.ts",
  "apps/agents/src/claude-agent.ts",
  "apps/console/src/islands/ask-service.ts",
  "apps/server/src/outbound/ask.ts",
  "apps/verifier-cli/src/read-input.ts",
  "apps/verify-page/src/page/read-bounded.ts",
  SDK_PLATFORM,
  PERMIT_PLATFORM,
])
/** Samples of attacks contain the paths that attackers read. */
const notAttackSample = (path: string): boolean => !/\/policy\/signature-(?:library|samples)\.json$/.test(path)
/** The runner of tests takes the order of suites as a class. */
const TEST_RUNNER = "vitest.config.ts"
/** Rules on TypeScript and JavaScript sources that the linter lacks; biome.json has the others. */
export const SOURCE_RULES: readonly PatternRule[] = [
  { rule: "no decorator", view: "code", pattern: /^\s*@[A-Za-z_$]/m },
  {
    rule: "no class but errors",
    view: "code",
    pattern: /(?<![.\w$])class(?=[\s{])(?![^{]*\bextends\s+[\w$.]*Error\b)[^{]*\{/,
    binds: path => notTest(path) && path !== TEST_RUNNER,
  },
  {
    rule: "no silenced compiler, nor a rule of the house that the linter has",
    view: "comments",
    pattern:
      /@ts-(?:ignore|nocheck|expect-error)\b|\bbiome-ignore\S* lint\/(?:style|performance|suspicious\/no(?:ConstEnum|ExplicitAny))\b/,
  },
  { rule: "no note to self", view: "comments", pattern: /\b(?:TODO|FIXME|XXX|HACK)\b/ },
  {
    rule: "no focused, skipped or empty test (skipIf says why)",
    view: "code",
    pattern:
      /\b(?:test|it|describe|suite|bench)(?:\.\w+)*\.(?:only|skip|todo|fails)\b|(?<![.\w$])(?:xit|xtest|xdescribe|fit|fdescribe)\s*\(/,
    binds: isTest,
  },
  {
    rule: "no clock in a library: time is an argument",
    view: "code",
    pattern: /\bDate\.now\b|\bDate\s*\(\s*\)|\bnew\s+Date\b(?!\s*\()|\bperformance\.now\b/,
    binds: library,
  },
  {
    rule: "no randomness in a library: it is an argument",
    view: "code",
    pattern: /\bMath\.random\b|\bgetRandomValues\b|\brandomUUID\b|\brandomBytes\b/,
    binds: library,
  },
  {
    rule: "no request is sent but by the HTTP clients, which bound it",
    view: "code",
    pattern: /(?<![.\w])(?:globalThis\.)?fetch\s*\(|\b(?:createConnection|XMLHttpRequest|WebSocket|EventSource)\b/,
    binds: path => shipped(path) && !HTTP_CLIENTS.has(path),
  },
  {
    rule: "SQL is in the store alone",
    view: "code",
    pattern: /\bsql(?:\.unsafe\s*\(|(?:<[^`;]*>)?`)/,
    binds: path => shipped(path) && !isWithin(path, "apps/server/src/store"),
  },
  {
    rule: "a secret is looked up by its hash, or compared in constant time",
    view: "code",
    pattern: /\w*secret(?:_?hash)?\b\s*[!=]==(?!\s*(?:undefined|null)\b)|[!=]==\s*[\w.]*secret(?:_?hash)?\b(?!\s*\()/i,
    binds: path => path.startsWith("apps/server/src/") && notTest(path),
  },
]

/** Rules on every text file. */
export const TEXT_RULES: readonly PatternRule[] = [
  {
    rule: "no path of one machine",
    view: "text",
    pattern: /(?<![\w.)\]}/-])(?:\/(?:work|home|root|Users)\/\w|[A-Z]:\\Users\\)/,
    binds: notAttackSample,
  },
  { rule: "no registry host", view: "text", pattern: /\bregistry\.(?:npmjs|npmmirror|yarnpkg)\b/ },
  {
    rule: "no download address in the lock file",
    view: "text",
    pattern: /"resolved":\s*"https?:/,
    binds: path => path.endsWith("package-lock.json"),
  },
]

/** File and folder names that say nothing, whatever their extension. */
export const EMPTY_NAMES: ReadonlySet<string> = new Set([
  "utils",
  "util",
  "helpers",
  "helper",
  "common",
  "shared",
  "misc",
  "types",
])

/** The index files of packages whose whole API is one module; no other folder has an index. */
export const INDEX_FILES: ReadonlySet<string> = new Set([
  "libs/canonical/src/index.ts",
  "libs/permit/src/index.ts",
  "libs/sdk/src/index.ts",
])

/** Lines a source may have. A file is one idea, read from top to bottom: a smaller limit cuts ideas in pieces that one reader needs together. */
export const MAX_LINES = 600
/** Lines a test may have. */
export const MAX_TEST_LINES = 500
