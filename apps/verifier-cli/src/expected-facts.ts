/** What the user expects of a record, by options such as `--require-outcome ok`: each is a check of its own. Loaded only when one is given. */
import { StrictJsonError, sha256Hex } from "@runseal/canonical"
import type { Opening } from "@runseal/core/artifacts/opening"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { compareClose } from "@runseal/core/verify/close-of-opening"
import { readDocument, verifyRead } from "@runseal/core/verify/document"
import type { ReadDocument } from "@runseal/core/verify/kind"
import { parseDocument, type Unreadable, unreadable } from "@runseal/core/verify/parsed-text"
import type { RecordFacts } from "@runseal/core/verify/record-facts"
import { LIMITATION_CODES, type LimitationCode, type Report, VERDICTS } from "@runseal/core/verify/report"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import { CLOCK_TOLERANCE_SECONDS, clockMillis } from "@runseal/core/vocabulary/scalars"
import { unixTime } from "@runseal/core/vocabulary/utc-time"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { InputError } from "./exit-answer.ts"
import type { Decider, DecisionOptions } from "./expected-decision.ts"
import type { Expectation, ExpectationId, Expected } from "./judgement.ts"
import { DOCUMENT_LIMITS, readFile } from "./read-input.ts"

/** The options as they were given. */
export type ExpectationOptions = {
  readonly requireOutcome?: string
  readonly payload?: string
  readonly aiOutput?: string
  readonly program?: string
  readonly route?: string
  readonly tenant?: string
  readonly policyHash?: string
  readonly notBefore?: string
  readonly maxAge?: string
  readonly opening?: string
  readonly decidedBy?: readonly string[]
  readonly payloads?: string
  readonly otherPolicies?: true
  readonly sameEngine?: true
  readonly approverKeys?: string
}

/** The flag that is given once for each policy. */
export const DECIDED_BY = [
  "--decided-by <file>",
  "decide again by this policy, and expect the same; with --payload also what was read of it (repeatable)",
] as const

/** Flags without a value that go with it. */
export const DECISION_SWITCHES: readonly (readonly [flag: string, help: string])[] = [
  ["--other-policies", "with --decided-by: pass what another policy decided than those of the files"],
  ["--same-engine", "with --decided-by: expect that this version of the policy engine decided"],
]

/** The options' flags with their help. */
export const EXPECTATION_FLAGS: readonly (readonly [flag: string, help: string])[] = [
  ["--require-outcome <kinds>", "expect one of these outcomes, such as ok; several with commas"],
  ["--payload <file>", "expect the run of exactly this payload"],
  ["--ai-output <file>", "expect the run of exactly this AI output"],
  ["--program <sha256>", "expect this program_id"],
  ["--route <id>", "expect this route_id"],
  ["--tenant <id>", "expect this tenant_id"],
  ["--policy-hash <sha256>", "expect a decision under this policy"],
  ["--not-before <time>", "expect a record of this RFC 3339 time or date, or later"],
  ["--max-age <duration>", "expect a record no older than this, such as 90s, 15m, 24h or 7d"],
  [
    "--payloads <dir>",
    "with --decided-by: read each record's act again from the file of this folder with its payload_hash",
  ],
  ["--opening <file>", "expect the run that closes the permit of this opening"],
  ["--approver-keys <file>", "expect that persons signed what they approved with passkeys of this file"],
]

type Fact = "program_id" | "route_id" | "tenant_id" | "policy_hash"

/**
 * The expectations of these options. Reads the files they name. Throws InputError.
 * @param readAtMs clock, milliseconds since the epoch
 * @param trusts keys that an expected opening is held against
 * @param several whether they are of each of several documents
 */
export async function readExpectations(
  options: ExpectationOptions,
  readAtMs: number,
  trusts: readonly TrustedKeys[],
  several = false,
): Promise<readonly Expectation[]> {
  const { requireOutcome, payload, aiOutput, program, route, tenant, policyHash, notBefore, maxAge, opening } = options
  const { approverKeys } = options
  const decision = decisionOptions(options)
  return [
    ...(requireOutcome === undefined ? [] : [outcomeExpectation(requireOutcome)]),
    ...(payload === undefined ? [] : [await fileExpectation("expected_payload", payload, payloadHash)]),
    ...(aiOutput === undefined ? [] : [await fileExpectation("expected_ai_output", aiOutput, outputHash)]),
    ...(program === undefined ? [] : [factExpectation("expected_program", "program_id", hashOf("--program", program))]),
    ...(route === undefined ? [] : [factExpectation("expected_route", "route_id", route)]),
    ...(tenant === undefined ? [] : [factExpectation("expected_tenant", "tenant_id", tenant)]),
    ...(policyHash === undefined
      ? []
      : [factExpectation("expected_policy_hash", "policy_hash", hashOf("--policy-hash", policyHash))]),
    ...(notBefore === undefined
      ? []
      : [timeExpectation("expected_not_before", timeOf(notBefore), `${notBefore} or later was expected`)]),
    ...(maxAge === undefined ? [] : [ageExpectation(maxAge, readAtMs)]),
    ...(opening === undefined ? [] : [await openingExpectation(opening, trusts)]),
    ...(decision === undefined ? [] : [await decisionOf(decision, several)]),
    ...(approverKeys === undefined ? [] : [await proofOf(approverKeys, several)]),
  ]
}

/** What the options say of decisions; undefined without `--decided-by`. Throws InputError. */
function decisionOptions(options: ExpectationOptions): DecisionOptions | undefined {
  const { decidedBy, payload, payloads, otherPolicies = false, sameEngine = false } = options
  if (payload !== undefined && payloads !== undefined)
    throw new InputError("--payload is the payload of one record, and --payloads those of many: give one of them.")
  if (decidedBy !== undefined) return { decidedBy, payload, payloads, otherPolicies, sameEngine }
  if (payloads === undefined && !otherPolicies && !sameEngine) return undefined
  throw new InputError("--payloads, --other-policies and --same-engine go with --decided-by.")
}

const decisionOf = async (options: DecisionOptions, several: boolean): Promise<Expectation> => {
  const { decisionExpectation } = await import("./expected-decision.ts")
  return await decisionExpectation(options, several)
}

const proofOf = async (file: string, several: boolean): Promise<Expectation> => {
  const prove = await proverOf(file, several)
  return (_, document) => {
    const read = readBytes(document)
    return "unreadable" in read ? failed("proven_by_passkeys", "the document cannot be read") : prove(read)
  }
}

async function proverOf(file: string, several: boolean): Promise<Decider> {
  const { readProver } = await import("./expected-passkeys.ts")
  return await readProver(file, several)
}

/** What is expected of the documents of a whole export, one by one. */
export type ExportExpectations = { readonly decide?: Decider; readonly prove?: Decider }

/** The expectations of an export. Throws InputError, also for options that are of one document. */
export async function readExportExpectations(options: ExpectationOptions): Promise<ExportExpectations> {
  const { decidedBy: _, payloads: __, otherPolicies: ___, sameEngine: ____, approverKeys, ...ofOne } = options
  const decision = decisionOptions(options)
  if (Object.keys(ofOne).length > 0)
    throw new InputError(
      "Expectations such as --require-outcome are of one document; of an export only --decided-by and --approver-keys are expected.",
    )
  const prove = approverKeys === undefined ? {} : { prove: await proverOf(approverKeys, true) }
  if (decision === undefined) return prove
  const { readDecider } = await import("./expected-decision.ts")
  return { decide: await readDecider(decision, true), ...prove }
}

/** The limitations of `--strict=LIST`. Throws InputError. */
export function readStrictList(list: string): ReadonlySet<LimitationCode> {
  const codes = list.split(",").map(name => {
    const code = LIMITATION_CODES.find(known => known === name)
    if (code !== undefined) return code
    throw new InputError(
      `--strict knows no limitation ${name}: it takes codes as --json shows them, such as software_attestation,chain_tail.`,
    )
  })
  return new Set(codes)
}

const passed = (id: ExpectationId, message: string): Expected => ({ id, result: "pass", message })
const failed = (id: ExpectationId, message: string): Expected => ({ id, result: "fail", message })

function outcomeExpectation(kinds: string): Expectation {
  const expected = kinds.split(",")
  const unknown = expected.find(kind => !OUTCOME_KINDS.some(known => known === kind))
  if (unknown !== undefined)
    throw new InputError(`--require-outcome knows no outcome ${unknown}: use ${OUTCOME_KINDS.join(", ")}.`)
  return ({ outcome_kind: found = "no outcome" }) =>
    expected.includes(found)
      ? passed("expected_outcome", found)
      : failed("expected_outcome", `the outcome is ${found}, and ${expected.join(" or ")} was expected`)
}

function factExpectation(id: ExpectationId, fact: Fact, expected: string): Expectation {
  return ({ facts }) => {
    const found = facts?.[fact]
    if (found === expected) return passed(id, `${fact} is ${found}`)
    return failed(
      id,
      `${found === undefined ? `the document states no ${fact}` : `${fact} is ${found}`}, and ${expected} was expected`,
    )
  }
}

/** A hash of a text that a document states: its name, and what to say besides. */
type NamedHash = { readonly name: string; readonly hash?: string | undefined; readonly note?: string }

const payloadHash = ({ payload_hash }: RecordFacts): NamedHash => ({ name: "payload_hash", hash: payload_hash })

/** Of an output that the service never had, the caller declared the hash. */
const outputHash = ({ ai_output_hash, declared_output_hash }: RecordFacts): NamedHash =>
  declared_output_hash === undefined
    ? { name: "ai_output_hash", hash: ai_output_hash }
    : {
        name: "request_substance.output.hash",
        hash: declared_output_hash,
        note: ", as the caller declared it: the service never had the output",
      }

async function fileExpectation(
  id: ExpectationId,
  file: string,
  hashIn: (facts: RecordFacts) => NamedHash,
): Promise<Expectation> {
  const bytes = await readFile(file, DOCUMENT_LIMITS)
  const trimmed = bytes.subarray(0, bytes.at(-1) === LINE_FEED ? -1 : bytes.length)
  return ({ facts = {} }: Report): Expected => {
    const { name, hash, note = "" } = hashIn(facts)
    if (hash === sha256Hex(bytes)) return passed(id, `${name} is the SHA-256 of ${file}${note}`)
    if (hash === undefined) return failed(id, `the document states no ${name}`)
    const hint = hash === sha256Hex(trimmed) ? "; without its last newline it would be" : ""
    return failed(id, `${name} is not the SHA-256 of ${file}${hint}`)
  }
}
const LINE_FEED = 0x0a

/** The time of a record: its own clock, or the log's where it has none, which may be beyond every calendar. */
function timeOfRecord({
  clock,
  anchors: [anchor],
}: Report): { readonly text: string; readonly millis: number } | undefined {
  if (clock !== undefined) return { text: clock, millis: clockMillis(clock) ?? Number.NaN }
  if (anchor === undefined) return undefined
  const seconds = Number(anchor.integrated_time)
  return { text: unixTime(seconds), millis: seconds * 1000 }
}

/** @param earliest milliseconds since the epoch @param latest the same; a record that is dated later has no age that can be known */
const timeExpectation =
  (id: ExpectationId, earliest: number, expected: string, latest = Number.POSITIVE_INFINITY): Expectation =>
  report => {
    const time = timeOfRecord(report)
    if (time === undefined) return failed(id, "the document states no time")
    if (time.millis > latest) return failed(id, `the record is of ${time.text}, ahead of this machine's clock`)
    return time.millis >= earliest
      ? passed(id, `the record is of ${time.text}`)
      : failed(id, `the record is of ${time.text}, and ${expected}`)
  }

function ageExpectation(maxAge: string, readAtMs: number): Expectation {
  const earliest = readAtMs - durationOf(maxAge)
  const latest = readAtMs + CLOCK_TOLERANCE_SECONDS * 1000
  return timeExpectation("expected_max_age", earliest, `at most ${maxAge} ago was expected`, latest)
}

function hashOf(flag: string, text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new InputError(`${flag} takes a SHA-256 of 64 hex digits.`)
  return text.toLowerCase()
}

/** An RFC 3339 time or a date, which is its first instant in UTC. A day that no month has is refused, and not counted on. */
function timeOf(text: string): number {
  const [, date = "", fraction = ""] =
    /^(\d{4}-\d\d-\d\d)(?:T(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d))?$/.exec(text) ?? []
  const day = new Date(`${date}T00:00:00Z`)
  const isDay = !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date)
  const millis = isDay ? Date.parse(text) : Number.NaN
  if (Number.isNaN(millis)) throw new InputError("--not-before takes a date or an RFC 3339 time, such as 2026-01-15.")
  // Clocks of records have whole milliseconds: the first one that is not before a time between two of them is the next.
  return /[1-9]/.test(fraction.slice(3)) ? millis + 1 : millis
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of a duration such as `24h`. */
function durationOf(text: string): number {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const unitMs = UNITS[unit]
  if (count === undefined || unitMs === undefined)
    throw new InputError("--max-age takes a number with s, m, h or d, such as 24h.")
  return Number(count) * unitMs
}

// `--opening FILE`: whether a record closes the permit of an opening that its reader has stored.

/** Reads the opening, which must be one, and verifies it. Throws InputError. @param trusts those of the record */
async function openingExpectation(file: string, trusts: readonly TrustedKeys[]): Promise<Expectation> {
  const read = readBytes(await readFile(file, DOCUMENT_LIMITS))
  if ("unreadable" in read) throw new InputError(`--opening cannot read ${file}: ${read.unreadable}.`)
  const { opening } = read
  if (opening === undefined) throw new InputError(`--opening takes the opening of a permit, and ${file} is none.`)
  const { verdict, first_failure } = verifyRead(read, trusts)
  if (verdict === VERDICTS.opening) return (_, document) => closeExpected(document, opening, file)
  const why = `${file} does not verify; first failed check: ${first_failure}`
  return () => ({ id: "expected_opening", result: "fail", message: why })
}

function closeExpected(document: Uint8Array, opening: Opening, file: string): Expected {
  const read = readBytes(document)
  const id = "expected_opening"
  if ("unreadable" in read || read.forms === undefined)
    return { id, result: "fail", message: "the document is no record of a run" }
  const { problems, notes } = compareClose(read.forms.bundle, opening)
  const [problem] = problems
  if (problem !== undefined) return { id, result: "fail", message: `the record ${problem}` }
  return { id, result: "pass", message: [`the record closes the permit of ${file}`, ...notes].join("; ") }
}

function readBytes(bytes: Uint8Array): ReadDocument | Unreadable {
  const problem = savedProblem(bytes)
  if (problem !== undefined) return unreadable(problem)
  try {
    return readDocument(parseDocument(savedText(bytes)))
  } catch (error) {
    if (error instanceof StrictJsonError) return unreadable(`not strict JSON: ${error.message}`)
    throw error
  }
}
