/** `verifier export.ndjson --complete`: whether an export holds every document that its statement counts. */
import type { JsonObject } from "@runseal/canonical"
import { countsOf, leafCounts, NO_DOCUMENTS } from "@runseal/core/artifacts/anchor"
import type { ExportStatement } from "@runseal/core/artifacts/export-statement"
import { MARKS } from "@runseal/core/presentation/account"
import { NOT_TRUSTED } from "@runseal/core/presentation/advice"
import {
  type AccountRow,
  noteTexts,
  omittedText,
  passedRows,
  problemText,
  statementRows,
  windowTables,
} from "@runseal/core/presentation/completeness-account"
import type { NumberedLine } from "@runseal/core/presentation/lines"
import {
  COMPLETENESS_VERDICTS,
  type Completeness,
  type CompletenessVerdict,
  type FoldOptions,
  foldExport,
} from "@runseal/core/verify/completeness"
import type { ReadDocument } from "@runseal/core/verify/kind"
import type { Limitation } from "@runseal/core/verify/report"
import { textMember } from "@runseal/core/vocabulary/json-members"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type Answer, InputError, printed, refused } from "./exit-answer.ts"
import type { Decider } from "./expected-decision.ts"
import { type DecidedWord, type Expected, type ProvenWord, refusedLimitations } from "./judgement.ts"
import { type Line, paragraph, printJson, type Style } from "./print.ts"
import type { Progress } from "./progress.ts"
import { section } from "./report-lines.ts"
import { HOW_TO_PIN } from "./trust-lines.ts"
import { decidedLines, provenLines } from "./verify-stream.ts"
import { SCHEMA_VERSION, type VerifyFlags, warningOf } from "./verify-text.ts"

const LABEL_WIDTH = 14

/** The result of an export, and the limitations that `--strict` refuses. */
type ExportResult = {
  readonly found: Completeness
  readonly verdict: CompletenessVerdict
  readonly exit: 0 | 1
  readonly strict: readonly Limitation[]
  /** With `--decided-by`. */
  readonly decisions: ExportTally | undefined
  /** With `--approver-keys`. */
  readonly proofs: ExportTally | undefined
}

/** Verifies an export line by line; it holds some hundred bytes of each record. Throws InputError. */
export async function verifyComplete(
  lines: AsyncIterable<NumberedLine>,
  trusts: readonly TrustedKeys[],
  flags: VerifyFlags,
  options: FoldOptions,
  style: Style,
  progress: Progress,
): Promise<Answer> {
  if (flags.allowUnanchored)
    throw new InputError("--allow-unanchored does not go with --complete: only what is anchored can be complete.")
  const decisions = flags.decide && exportDecisions(flags.decide)
  const proofs = flags.prove && exportProofs(flags.prove)
  const fold = foldExport(trusts, flags.readAtMs, {
    ...options,
    verified: (line, read) => {
      decisions?.take(line, read)
      proofs?.take(line, read)
    },
  })
  for await (const { number, bytes } of lines) {
    fold.take(number, bytes)
    progress.show(number)
  }
  const found = fold.end()
  if ("unreadable" in found) return refused(`this is no export that can be verified: ${found.unreadable}`, style)
  const strict = refusedLimitations(found.limitations, flags)
  const fails = strict.length > 0 || (decisions?.failed() ?? 0) > 0 || (proofs?.failed() ?? 0) > 0
  const verdict = fails ? COMPLETENESS_VERDICTS.failed : found.verdict
  const result: ExportResult = {
    found,
    verdict,
    strict,
    decisions,
    proofs,
    exit: verdict === COMPLETENESS_VERDICTS.failed ? 1 : 0,
  }
  if (flags.json) return { stdout: printJson(jsonAnswer(result)), stderr: "", exit: result.exit }
  return {
    ...printed(answerLines(result), style, result.exit),
    ...warningOf(found.untrusted !== undefined, flags, style),
  }
}

/** The object of `--json`. Absent facts are absent keys. */
function jsonAnswer({ found, verdict, exit, strict, decisions, proofs }: ExportResult): JsonObject {
  const { statement, service, outside, windows } = found
  return {
    schema_version: SCHEMA_VERSION,
    verdict,
    exit_code: exit,
    ...(found.untrusted === undefined ? {} : { not_trusted: true }),
    ...(service === undefined ? {} : { service }),
    ...(statement === undefined ? {} : jsonStatement(statement)),
    ...leafCounts(found),
    ...(found.requests === 0 ? {} : { open_requests: found.open_requests }),
    open_permits: found.open_permits,
    unreported_acts: found.unreported_acts,
    documents_outside_time: outside,
    ...(windows === undefined ? {} : { windows }),
    problems: found.problems,
    problem_count: found.problem_count,
    notes: found.notes,
    note_count: found.note_count,
    ...decisions?.json(),
    ...proofs?.json(),
    ...(strict.length === 0 ? {} : { refused: strict }),
    limitations: found.limitations,
  }
}

const jsonStatement = ({ tenant_id, leaf, entry }: ExportStatement): JsonObject => {
  const { leaf_version: _, tenant_commitment: __, windows_hash: ___, open_permits, ...rest } = leaf
  const isCount = (name: string): boolean => Object.hasOwn(NO_DOCUMENTS, name)
  const facts = Object.fromEntries(Object.entries(rest).filter(([name]) => !isCount(name)))
  const counts = { ...leafCounts(countsOf(leaf)), open_permits }
  return { tenant_id, ...facts, counts, log_index: entry.logIndex, integrated_time: entry.integratedTime }
}

function answerLines({ found, verdict, strict, decisions, proofs }: ExportResult): readonly Line[] {
  const { statement, service, problems, limitations } = found
  const omitted = omittedText(found)
  return [
    [{ text: "Export", tone: "strong" }, service === undefined ? "" : `, held against the keys of ${service}`],
    ...(statement === undefined ? [] : section("Statement", statementRows(statement).map(row))),
    ...section("Checked", passedRows(found).map(passed)),
    ...section("Problems", [
      ...problems.map(one => problem(problemText(one))),
      ...(omitted === undefined ? [] : [[`  ${omitted}`]]),
    ]),
    ...(decisions?.lines() ?? []),
    ...(proofs?.lines() ?? []),
    ...(statement !== undefined && service === undefined ? section("What to do", HOW_TO_PIN) : []),
    ...section(
      "Changed on the way",
      noteTexts(found).map((text): Line => [`  ${text}`]),
    ),
    ...windowTables(found).flatMap(({ heading, rows }) =>
      section(
        `Budget ${heading}`,
        rows.map((text): Line => [`  ${text}`]),
      ),
    ),
    ...section("Refused by --strict", strict.flatMap(limitationLines)),
    ...section("Not shown by this", limitations.flatMap(limitationLines)),
    ...(found.untrusted === undefined ? [] : [[], [{ text: NOT_TRUSTED, tone: "warn" as const }]]),
    [],
    [{ text: verdict, tone: verdict === COMPLETENESS_VERDICTS.failed ? "bad" : "good" }],
  ]
}

const limitationLines = ({ sentence }: Limitation): readonly Line[] => paragraph(sentence)

const row = ({ label, value }: AccountRow): Line => [`  ${label.padEnd(LABEL_WIDTH)}${value}`]

const passed = ({ label, value }: AccountRow): Line => [
  "  ",
  { text: MARKS.pass, tone: "good" },
  ` ${label.padEnd(LABEL_WIDTH - 2)}${value}`,
]

const problem = (text: string): Line => ["  ", { text: MARKS.fail, tone: "bad" }, ` ${text}`]

// The decisions of a whole export, made again; and the policies that made them, in the order of time. docs/verifier.md, "Decided again".

/** Documents that were not decided again and are listed, and changes of the policy. Further ones are counted, and left out. */
const LISTED_MAX = 100

/** A policy from its first document on, or an admin event that loaded one. */
type PolicyInTime = {
  readonly clock: string
  readonly policy_id?: string
  readonly policy_hash?: string
  /** Of an admin event: its action, and who did it. */
  readonly event?: string
  readonly actor?: string
}

/** What is counted of the documents of an export, and printed. */
type ExportTally = {
  /** Takes the next document, which verifies by itself. */
  readonly take: (line: number, read: ReadDocument) => void
  /** How many documents are not as expected. */
  readonly failed: () => number
  readonly lines: () => readonly Line[]
  readonly json: () => JsonObject
}

/** A document that is not as expected, by its line. */
type FailedDocument = { readonly line: number; readonly sentence: string }

/** Counts documents by a word, and lists the first that failed. */
function tallyOf<Word extends DecidedWord | ProvenWord>() {
  const counts = new Map<Word | "not", number>()
  const listed: FailedDocument[] = []
  const failed = (): number => counts.get("not") ?? 0
  return {
    counts,
    failed,
    listed,
    count: (line: number, word: Word, { result, message }: Expected): void => {
      counts.set(word, (counts.get(word) ?? 0) + 1)
      if (result === "fail" && listed.length < LISTED_MAX) listed.push({ line, sentence: message })
    },
    failedLines: (): readonly Line[] => [
      ...listed.map(({ line, sentence }) => problem(`line ${line}: ${sentence}`)),
      ...(failed() > listed.length ? [[`  and ${failed() - listed.length} more`]] : []),
    ],
  }
}

/** Decides every document of an export again. */
function exportDecisions(decide: Decider): ExportTally {
  const tally = tallyOf<DecidedWord>()
  const policies: PolicyInTime[] = []
  let newest: string | undefined
  const takePolicy = (read: ReadDocument): void => {
    const policy = policyOf(read)
    if (policy === undefined || (policy.event === undefined && policy.policy_hash === newest)) return
    if (policy.event === undefined) newest = policy.policy_hash
    if (policies.length < LISTED_MAX) policies.push(policy)
  }
  return {
    take: (line, read) => {
      takePolicy(read)
      const expected = decide(read)
      tally.count(line, expected.decided ?? "none", expected)
    },
    failed: tally.failed,
    lines: () => [
      ...section("Policies, in the order of the export", policies.map(policyLine)),
      ...section("Decided again", decidedLines(tally.counts)),
      ...section("Not decided again", tally.failedLines()),
    ],
    json: () => ({
      decided_again: Object.fromEntries(tally.counts),
      policies,
      not_decided_again: tally.listed,
    }),
  }
}

/** Holds the approvals of every document of an export to passkeys. */
function exportProofs(prove: Decider): ExportTally {
  const tally = tallyOf<ProvenWord>()
  return {
    take: (line, read) => {
      const expected = prove(read)
      tally.count(line, expected.proven ?? "not", expected)
    },
    failed: tally.failed,
    lines: () => [
      ...section("Proven by passkeys", provenLines(tally.counts)),
      ...section("Not proven by passkeys", tally.failedLines()),
    ],
    json: () => ({ proven_by_passkeys: Object.fromEntries(tally.counts), not_proven_by_passkeys: tally.listed }),
  }
}

/** The policy that decided a document, or that an admin event loaded. */
function policyOf(read: ReadDocument): PolicyInTime | undefined {
  const document = read.inChain()
  if (document === undefined) return undefined
  const { clock, decided } = document
  if (read.event !== undefined) {
    const { action: event, who, after } = read.event
    if (event !== "policy.load") return undefined
    const [policy_id, policy_hash] = [textMember(after, "policy_id"), textMember(after, "policy_hash")]
    return {
      clock,
      event,
      actor: who.actor,
      ...(policy_id === undefined ? {} : { policy_id }),
      ...(policy_hash === undefined ? {} : { policy_hash }),
    }
  }
  const named = decided?.sections.policy_evaluation ?? decided?.attestation_gap_receipt
  return named && { clock, policy_id: named.policy_id, policy_hash: named.policy_hash }
}

const policyLine = ({ clock, policy_id = "", policy_hash = "", event, actor }: PolicyInTime): Line => [
  `  ${clock}  ${policy_hash}  ${policy_id}${event === undefined ? "" : `, ${event} by ${actor}`}`,
]
