/** Runs the six kernels in their order; the same function serves the pipeline and every verifier. */
import { type JsonValue, sha256Hex } from "@runseal/canonical"
import { DECLARED_NAMES, isShown, shown } from "../../artifacts/declared-sections.ts"
import type { KernelRecord, WithheldKernels } from "../../artifacts/kernel-schemas.ts"
import { isObject, member, textMember } from "../../vocabulary/json-members.ts"
import type { FindingCode } from "../../vocabulary/kernel-findings.ts"
import type { Kernel } from "../../vocabulary/outcomes.ts"
import { KERNELS } from "../../vocabulary/outcomes.ts"
import { aivp } from "./aivp.ts"
import { declaredView } from "./declared-view.ts"
import type { KernelFunction } from "./kernel.ts"
import { countFindings, pick } from "./kernel.ts"
import type { KernelSources } from "./kernel-commitments.ts"
import { dcaeClosure, dscFinalState, dseCommitment, kernelRecord, nrepCaller } from "./kernel-commitments.ts"
import { tok } from "./tok.ts"

/** DSE, state: commits to what was admitted, and says when that is an empty payload. */
const dse: KernelFunction = ({ envelope, payload }) => ({
  output: { state_commitment: dseCommitment(envelope, payload) },
  findings: countFindings(payload.payload_bytes === 0 ? ["PAYLOAD_EMPTY"] : []),
})

const LINEAGE_KEYS = ["parent_run_id", "parent_runs", "related_runs"]

/** DSC, continuity: commits to the six declared sections and to the runs this one says it continues. */
const dsc: KernelFunction = sources => {
  const graph = declaredView(sources, "causal_graph")
  if (graph === undefined) return undefined
  const lineage = pick(graph.declared, LINEAGE_KEYS)
  const closing = sources.closing && shown(sources.closing)
  const salts = { salt: graph.salt, ...(closing && { closing_salt: closing.salt }) }
  const state = sources.envelope.declared_sections_hash
  return { output: { final_state_hash: dscFinalState(salts, state, lineage) }, findings: [] }
}

/** NREP, origin: commits to the caller as the server saw it. A supplied actor_signature is sealed as declared, not verified. */
const nrep: KernelFunction = sources => {
  const substance = shown(sources.request_substance)
  const context = shown(sources.attested_context)
  if (substance?.origin === undefined || context === undefined) return undefined
  const signature = textMember(context.declared, "actor_signature")
  const signatureHash = signature === undefined ? undefined : sha256Hex(signature)
  return {
    output: {
      caller_commitment: nrepCaller(substance.salt, substance.origin, signatureHash),
      actor_signature: signature === undefined ? "absent" : "declared_not_verified",
    },
    findings: countFindings(signature === undefined ? [] : ["ACTOR_SIGNATURE_NOT_VERIFIED"]),
  }
}

const isCount = (value: JsonValue | undefined): value is number => Number.isSafeInteger(value)

/**
 * What is wrong with a declared cost, at most one code: the budgets count its total alone, so a cost without one counts as zero, and
 * parts beyond it do not count.
 */
function costFindings(cost: JsonValue | undefined): readonly FindingCode[] {
  if (!isObject(cost)) return []
  const [input, output, total] = ["input_tokens", "output_tokens", "total_tokens"].map(key => member(cost, key))
  if (total === undefined) return ["COST_WITHOUT_TOTAL"]
  if (!isCount(total)) return []
  const parts = [input, output].filter(isCount)
  const sum = parts.reduce((tokens, part) => tokens + BigInt(part), 0n)
  if (sum > BigInt(total)) return ["COST_PARTS_EXCEED_TOTAL"]
  return parts.length === 2 && sum < BigInt(total) ? ["COST_DOES_NOT_ADD_UP"] : []
}

/** DCAE, closure: closes over the five executions before it and checks the declared cost. */
const dcae: KernelFunction = (sources, executionIds) => {
  const substance = declaredView(sources, "request_substance")
  if (substance === undefined) return undefined
  return {
    output: { closure: dcaeClosure(executionIds) },
    findings: countFindings(costFindings(member(substance.declared, "cost"))),
  }
}

const FUNCTIONS: Readonly<Record<Kernel, KernelFunction>> = {
  DSE: dse,
  TOK: tok,
  DSC: dsc,
  NREP: nrep,
  AIVP: aivp,
  DCAE: dcae,
}

/**
 * Six kernel records; undefined when a kernel reads a withheld section and `withheld` has no result of it.
 * @param withheld results of the kernels that read a withheld section
 */
export function runKernels(
  sources: KernelSources,
  withheld: WithheldKernels = {},
): readonly KernelRecord[] | undefined {
  const records: KernelRecord[] = []
  for (const kernel of KERNELS) {
    const executionIds = records.map(record => record.execution_id)
    const result = FUNCTIONS[kernel](sources, executionIds) ?? withheld[kernel]
    if (result === undefined) return undefined
    records.push(kernelRecord(kernel, sources, result.output, result.findings))
  }
  return records
}

/** Kernels that cannot be run again on these sources because a section they read is withheld. */
export const unrepeatableKernels = (sources: KernelSources): readonly Kernel[] =>
  isWhole(sources) ? [] : KERNELS.filter(kernel => FUNCTIONS[kernel](sources, []) === undefined)

/** Whether everything that a kernel may read is there. */
const isWhole = (sources: KernelSources): boolean =>
  DECLARED_NAMES.every(name => isShown(sources[name])) &&
  (sources.closing === undefined || isShown(sources.closing)) &&
  shown(sources.request_substance)?.origin !== undefined
