/**
 * Plausibility of a kernel's record where a withheld section keeps the kernel from running again. The schema has checked names
 * and types of its values; these rules check that they contradict neither each other nor the rest of the record.
 */
import { CONTENT_NAMES, shown } from "../../artifacts/declared-sections.ts"
import type { KernelRecord } from "../../artifacts/kernel-schemas.ts"
import { isMeaningful } from "../../vocabulary/attested-presence.ts"
import { readApprovers, uncountedApprovers } from "../../vocabulary/declared-approvers.ts"
import { member, textMember } from "../../vocabulary/json-members.ts"
import { APPROVER_CODES, type FindingCode, KERNEL_FINDINGS } from "../../vocabulary/kernel-findings.ts"
import type { Kernel } from "../../vocabulary/outcomes.ts"
import { attestedPrompt, modelCommitment, outputFindings, requestedPrompt } from "./aivp.ts"
import { declaredView } from "./declared-view.ts"
import type { DeclaredValueCounts } from "./execution-sections.ts"
import type { KernelSources } from "./kernel-commitments.ts"
import { dcaeClosure, nrepCaller } from "./kernel-commitments.ts"
import { shownTimes } from "./tok.ts"

/** What a kernel's record is compared with. */
export type RecordContext = {
  readonly sources: KernelSources
  /** ExecutionIDs of the kernels before it. */
  readonly execution_ids: readonly string[]
  /** Scalars sealed in each declared section, as the leakage bundle counts them; undefined when there is none. */
  readonly values: DeclaredValueCounts | undefined
}

const countOf = (record: KernelRecord, code: FindingCode): number =>
  record.findings.find(finding => finding.code === code)?.count ?? 0

/** A finding that is there once or not at all. */
const atMostOnce = (record: KernelRecord): boolean => record.findings.every(({ count }) => count === 1)

const RULES: Readonly<Record<Kernel, (record: KernelRecord, context: RecordContext) => boolean>> = {
  DSE: () => true,
  TOK: (record, context) => isTimeRecord(record, context) && isApproverRecord(record, context),
  DSC: () => true,
  NREP: isCallerRecord,
  AIVP: isModelRecord,
  DCAE: (record, { execution_ids, values }) =>
    atMostOnce(record) &&
    record.findings.length <= 1 &&
    member(record.output, "closure") === dcaeClosure(execution_ids) &&
    record.findings.every(
      ({ code }) => (values === undefined ? 3 : values.request_substance + (values.closing ?? 0)) >= leastValues(code),
    ),
}

/** How many numbers the shortest cost has of which a code is found: three that do not add up, or a total and a part beyond it. */
const leastValues = (code: FindingCode): number =>
  code === "COST_DOES_NOT_ADD_UP" ? 3 : code === "COST_PARTS_EXCEED_TOTAL" ? 2 : 0

/** The signature is declared as the shown context says; without one, the shown substance alone gives the commitment. */
function isCallerRecord(record: KernelRecord, { sources }: RecordContext): boolean {
  const declared = member(record.output, "actor_signature") === "declared_not_verified"
  const [context, substance] = [shown(sources.attested_context), shown(sources.request_substance)]
  const known = context && textMember(context.declared, "actor_signature") !== undefined
  const commitment = member(record.output, "caller_commitment")
  return (
    atMostOnce(record) &&
    declared === (record.findings.length === 1) &&
    (known ?? declared) === declared &&
    (declared ||
      substance?.origin === undefined ||
      commitment === nrepCaller(substance.salt, substance.origin, undefined))
  )
}

/** The shown context gives the commitment, the shown substance what is found of the output; one of them may name no prompt. */
function isModelRecord(record: KernelRecord, { sources }: RecordContext): boolean {
  const { ai_output_hash: output } = sources.payload
  const [context, substance] = [shown(sources.attested_context), shown(sources.request_substance)]
  const whole = declaredView(sources, "request_substance")
  const never = output === undefined ? "AI_OUTPUT_HASH_MISMATCH" : "AI_OUTPUT_HASH_UNCHECKED"
  const ofOutput = (["AI_OUTPUT_HASH_MISMATCH", "AI_OUTPUT_HASH_UNCHECKED"] as const).filter(
    code => countOf(record, code) > 0,
  )
  const noPrompt =
    (context !== undefined && attestedPrompt(context) === undefined) ||
    (substance !== undefined && requestedPrompt(substance) === undefined)
  return (
    atMostOnce(record) &&
    countOf(record, never) === 0 &&
    !(noPrompt && countOf(record, "PROMPT_HASH_MISMATCH") > 0) &&
    (context === undefined || member(record.output, "model_commitment") === modelCommitment(context, output)) &&
    (whole === undefined || String(ofOutput) === String(outputFindings(whole, output)))
  )
}

/** Each time is one string: unreadable, late or neither; and a step back needs two times that can be read. */
function isTimeRecord(record: KernelRecord, { sources, values }: RecordContext): boolean {
  const times = Number(member(record.output, "timestamp_count"))
  const seen = shownTimes(sources)
  const withheld = CONTENT_NAMES.filter(name => "withheld" in (sources[name] ?? {}))
  // A withheld section holds as many times as it holds values at most.
  const hidden = withheld.reduce((sum, name) => sum + (values?.[name] ?? 0), 0)
  const isWithin = (count: number, known: number): boolean => count >= known && count <= known + hidden
  const [unreadable, late] = [countOf(record, "TIMESTAMP_UNPARSABLE"), countOf(record, "TIMESTAMP_AFTER_ADMISSION")]
  const effects = countOf(record, "TIMESTAMP_OUT_OF_ORDER")
  const approvers = countOf(record, "APPROVERS_OUT_OF_SEQUENCE")
  return (
    isWithin(times, seen.events.length) &&
    isWithin(unreadable, seen.unreadable) &&
    isWithin(late, seen.late) &&
    (seen.effect_steps ?? effects) === effects &&
    (seen.approver_steps ?? approvers) === approvers &&
    unreadable + late <= times &&
    (effects + approvers === 0 || effects + approvers < times - unreadable)
  )
}

/** The shown chain says who is named how often, the shown context who the actor is. */
function isApproverRecord(record: KernelRecord, { sources, values }: RecordContext): boolean {
  const [chain, context] = [shown(sources.authorization_chain), shown(sources.attested_context)]
  const [repeated, ofActor] = [countOf(record, "APPROVER_REPEATED"), countOf(record, "APPROVER_IS_ACTOR")]
  const actor = context && textMember(context.declared, "actor_id")
  if (chain === undefined) {
    const noActor = context !== undefined && !isMeaningful(actor ?? "")
    // Each name is a value, and somebody who is repeated was named before.
    const names = repeated + ofActor + Math.min(repeated, 1)
    return !(noActor && ofActor > 0) && names <= (values?.authorization_chain ?? names)
  }
  const approvers = readApprovers(chain.declared)
  // A withheld actor is an approver who is named as often as the record states. Which of them does not change the counts.
  const named = context === undefined ? [...approvers.named].find(([, entries]) => entries === ofActor)?.[0] : actor
  const uncounted = uncountedApprovers(approvers, named)
  return APPROVER_CODES.every(code => uncounted[code] === countOf(record, code))
}

/** Whether codes are in the vocabulary's order, each once, and the record contradicts neither itself nor its context. */
export function isPossibleRecord(record: KernelRecord, context: RecordContext): boolean {
  const known = KERNEL_FINDINGS[record.kernel]
  const places = record.findings.map(({ code }) => known.indexOf(code))
  const inOrder = places.every((place, i) => place > (places[i - 1] ?? -1))
  return inOrder && RULES[record.kernel](record, context)
}
