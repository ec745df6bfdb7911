/** DCAE, closure: closes over the five outputs before it and checks that the declared cost adds up. */
import type { JsonValue } from "@runseal/canonical"
import { dcaeClosure } from "../formulas/kernels.ts"
import { member } from "../vocabulary/json-members.ts"
import type { KernelFunction } from "./kernel.ts"
import { countFindings, shown } from "./kernel.ts"

const isCount = (value: JsonValue | undefined): value is number => Number.isSafeInteger(value)

/** Whether input and output tokens are declared and do not sum to the declared total. */
function costContradicts(cost: JsonValue | undefined): boolean {
  const [input, output, total] = ["input_tokens", "output_tokens", "total_tokens"].map(key => member(cost, key))
  if (!isCount(input) || !isCount(output) || !isCount(total)) return false
  return BigInt(input) + BigInt(output) !== BigInt(total)
}

export const dcae: KernelFunction = (sources, outputs) => {
  const substance = shown(sources.request_substance)
  if (substance === undefined) return undefined
  return {
    output: { closure: dcaeClosure(outputs) },
    findings: countFindings(costContradicts(member(substance.declared, "cost")) ? ["COST_DOES_NOT_ADD_UP"] : []),
  }
}
