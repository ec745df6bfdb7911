/**
 * The cost of verification: whole documents on one core, single formulas, the command's start and its stream. The documents
 * are the published vectors. One ECDSA verification is the unit, since ratios to it can be compared between machines.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { canonicalize, parseStrictJson } from "@runseal/canonical"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Part } from "../bench-plan.ts"
import { median, type Row, sectionOf } from "../page.ts"
import { microsOf, verifyOnce } from "../yardstick.ts"

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url))
const VECTORS = `${ROOT}libs/core/vectors/`
const CLI = `${ROOT}apps/verifier-cli/`
const VERIFIER = `${CLI}bin/verifier.cjs`
const TRUST = `${VECTORS}trust.json`

/** Calls per round: some 50 ms of work. */
const CALLS = 40
const STREAM_LINES = 3000
const STARTS = 15
/** Starts after which the command's cache of compiled code no longer grows. */
const KEEPING_STARTS = 10
const MICROS = "µs"
const WARM_ROUNDS = 40
const COUNTED_ROUNDS = 21

/** Takes about half a minute and two processes. Throws when a document does not verify. */
export const verification: Part = {
  name: "verification",
  about: "what verifying costs, in the library and on the command line",
  run: async ({ say }) => {
    say("verification")
    return [sectionOf("Verification", [...libraryRows(), ...startRows(), streamRow()])]
  },
}

function libraryRows(): readonly Row[] {
  const text = vector("bundles/valid/ok-full.json")
  const refused = vector("bundles/valid/ccv-halt.json")
  const known = trust()
  const [ecdsa = Number.NaN, bundle = Number.NaN, unseen = Number.NaN, other = Number.NaN, parse = Number.NaN] =
    microsPerCall([
      repeated(verifyOnce),
      verifyWork(text, () => known),
      verifyWork(text, trust),
      verifyWork(refused, () => known),
      repeated(() => parseStrictJson(text)),
    ])
  const perSecond = (micros: number): string => `${Math.round(1_000_000 / micros)} a second on one core`
  const inYardsticks = (micros: number): string => `${(micros / ecdsa).toFixed(1)} × one ECDSA verification`
  const row = (what: string, value: number, note: string): Row => ({ what, value, unit: MICROS, note })
  return [
    row("one ECDSA P-256 verification", ecdsa, "node:crypto, the yardstick"),
    row(
      `verify a completed run's bundle, ${text.length} bytes`,
      bundle,
      `${inYardsticks(bundle)}, of which 4 are ECDSA; ${perSecond(bundle)}`,
    ),
    row("… checkpoints not seen before", unseen, `${inYardsticks(unseen)}, trust document read anew`),
    row(`verify a refused run's bundle, ${refused.length} bytes`, other, perSecond(other)),
    row("parse that bundle strictly", parse, inYardsticks(parse)),
  ]
}

/** A piece of work and how many calls of it one run makes. */
type Work = { readonly calls: number; readonly run: () => void }

/**
 * Microseconds of processor time a call, of all threads of this process: for each work the median over the rounds, in the order of the
 * works. They are measured alternately, so that a drift of the machine's speed affects all of them.
 */
function microsPerCall(works: readonly Work[]): readonly number[] {
  const found: number[][] = works.map(() => [])
  for (let round = 0; round < WARM_ROUNDS + COUNTED_ROUNDS; round++) {
    works.forEach(({ calls, run }, work) => {
      const micros = microsOf(calls, run)
      if (round >= WARM_ROUNDS) found[work]?.push(micros)
    })
  }
  return found.map(median)
}

const vector = (path: string): Uint8Array => readFileSync(`${VECTORS}${path}`)

/** The trust document parsed again: no cache knows the new key objects. */
function trust(): TrustedKeys {
  const keys = parseTrust(parseStrictJson(readFileSync(TRUST)))
  if ("problem" in keys) throw new Error(keys.problem)
  return keys
}

const repeated = (once: () => void): Work => ({
  calls: CALLS,
  run: () => {
    for (let call = 0; call < CALLS; call++) once()
  },
})

const verifyWork = (text: Uint8Array, keys: () => TrustedKeys): Work =>
  repeated(() => {
    const report = verifyText(text, [keys()])
    if (isUnreadable(report) || report.verdict !== VERDICTS.complete) throw new Error("A vector did not verify.")
  })

const wallMillis = (args: readonly string[], input?: string): number => {
  const start = performance.now()
  const { status } = spawnSync(process.execPath, args, {
    stdio: [input === undefined ? "ignore" : "pipe", "ignore", "ignore"],
    input,
  })
  if (status !== 0) throw new Error(`A process ended with ${status}.`)
  return performance.now() - start
}

/** Builds the file that `npm ci` builds; without it the sources would be started. */
const buildVerifier = (): void => {
  execFileSync(process.execPath, [`${CLI}build/make-verifier.node.ts`, `${CLI}dist/verifier.cjs`])
}

/** The package's files as npm would install them: without sources, with which a start would compare the built file. */
function publish(folder: string): string {
  for (const path of ["bin/verifier.cjs", "dist/verifier.cjs"]) cpSync(`${CLI}${path}`, join(folder, path))
  return join(folder, "bin/verifier.cjs")
}

/** The command's start compared with bare Node's, measured alternately, with its compile cache filled. */
function startRows(): readonly Row[] {
  buildVerifier()
  const folder = mkdtempSync(join(tmpdir(), "runseal-bench-"))
  try {
    return startsOf(publish(folder))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function startsOf(published: string): readonly Row[] {
  const document = [`${VECTORS}bundles/valid/ok-full.json`, "--trust", TRUST]
  const commands = [
    ["-e", "0"],
    [published, "--version"],
    [published, ...document],
    [VERIFIER, ...document],
  ]
  for (let start = 0; start < KEEPING_STARTS; start++) wallMillis([published, ...document])
  const found: number[][] = commands.map(() => [])
  for (let start = 0; start < STARTS; start++)
    commands.forEach((command, which) => {
      found[which]?.push(wallMillis(command))
    })
  const [bare = Number.NaN, version = Number.NaN, verified = Number.NaN, inCheckout = Number.NaN] = found.map(median)
  const beyond = (millis: number): string => `${(millis - bare).toFixed(1)} ms beyond bare Node`
  return [
    { what: "node -e 0", value: bare, unit: "ms", note: `wall, median of ${STARTS} in turn` },
    { what: "verifier --version", value: version, unit: "ms", note: beyond(version) },
    { what: "verifier bundle.json --trust trust.json", value: verified, unit: "ms", note: beyond(verified) },
    {
      what: "… in a checkout",
      value: inCheckout,
      unit: "ms",
      note: `${beyond(inCheckout)}; the built file is held against its sources`,
    },
  ]
}

/** A stream through the command, start included. */
function streamRow(): Row {
  const line = `${canonicalize(parseStrictJson(vector("bundles/valid/ok-full.json")))}\n`
  const seconds = wallMillis([VERIFIER, "-", "--ndjson", "--trust", TRUST], line.repeat(STREAM_LINES)) / 1000
  const what = "verifier - --ndjson --trust trust.json"
  return { what, value: STREAM_LINES / seconds, unit: "bundles/s", note: `${STREAM_LINES} lines, wall, start included` }
}
