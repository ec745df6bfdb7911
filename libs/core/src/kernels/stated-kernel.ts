/**
 * What a kernel's record can say where a withheld section keeps the kernel from running again. Names and types of its values
 * are those of the schema; this is how they exclude each other, and what the rest of the record says of them.
 */
import type { DeclaredName } from "../artifacts/declared-sections.ts"
import type { KernelRecord } from "../artifacts/sections.ts"
import type { KernelSources } from "../formulas/kernels.ts"
import { dcaeClosure } from "../formulas/kernels.ts"
import { member } from "../vocabulary/json-members.ts"
import { type FindingCode, KERNEL_FINDINGS } from "../vocabulary/kernel-findings.ts"
import type { Kernel } from "../vocabulary/outcomes.ts"

/** What a stated record is held against besides itself. */
export type StatedContext = {
  readonly sources: KernelSources
  /** Output hashes of the kernels before it. */
  readonly outputs: readonly string[]
  /** Scalars sealed in each declared section, as the leakage bundle counts them; undefined when there is none. */
  readonly values: Readonly<Record<DeclaredName, number>> | undefined
}

const countOf = (record: KernelRecord, code: FindingCode): number =>
  record.findings.find(finding => finding.code === code)?.count ?? 0

/** A finding that is there once or not at all. */
const atMostOnce = (record: KernelRecord): boolean => record.findings.every(({ count }) => count === 1)

const RULES: Readonly<Record<Kernel, (record: KernelRecord, context: StatedContext) => boolean>> = {
  DSE: () => true,
  TOK: isTimeRecord,
  DSC: () => true,
  NREP: record => {
    const declared = member(record.output, "actor_signature") === "declared_not_verified"
    return atMostOnce(record) && declared === (record.findings.length === 1)
  },
  AIVP: (record, { sources: { payload } }) => {
    const sent = payload.ai_output_hash !== undefined
    return atMostOnce(record) && countOf(record, sent ? "AI_OUTPUT_HASH_UNCHECKED" : "AI_OUTPUT_HASH_MISMATCH") === 0
  },
  DCAE: (record, { outputs }) => atMostOnce(record) && member(record.output, "closure") === dcaeClosure(outputs),
}

/** Each time is one string: unreadable, late or neither; and a step back needs two times that can be read. */
function isTimeRecord(record: KernelRecord, { values }: StatedContext): boolean {
  const times = Number(member(record.output, "timestamp_count"))
  const most = values === undefined ? times : Object.values(values).reduce((sum, count) => sum + count, 0)
  const unreadable = countOf(record, "TIMESTAMP_UNPARSABLE")
  const steps = countOf(record, "TIMESTAMP_OUT_OF_ORDER") + countOf(record, "APPROVERS_OUT_OF_SEQUENCE")
  return (
    times <= most &&
    unreadable + countOf(record, "TIMESTAMP_AFTER_ADMISSION") <= times &&
    (steps === 0 || steps < times - unreadable)
  )
}

/** Whether codes stand in the vocabulary's order, each once, and the record does not contradict itself or its context. */
export function isPossibleRecord(record: KernelRecord, context: StatedContext): boolean {
  const known = KERNEL_FINDINGS[record.kernel]
  const places = record.findings.map(({ code }) => known.indexOf(code))
  const inOrder = places.every((place, i) => place > (places[i - 1] ?? -1))
  return inOrder && RULES[record.kernel](record, context)
}
