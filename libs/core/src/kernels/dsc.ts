/** DSC, continuity: commits to the six declared sections and to the runs this one says it continues. */
import { dscFinalState } from "../formulas/kernels.ts"
import type { KernelFunction } from "./kernel.ts"
import { pick, shown } from "./kernel.ts"

const LINEAGE_KEYS = ["parent_run_id", "parent_runs", "related_runs"]

export const dsc: KernelFunction = sources => {
  const graph = shown(sources.causal_graph)
  if (graph === undefined) return undefined
  const lineage = pick(graph.declared, LINEAGE_KEYS)
  const state = sources.envelope.declared_sections_hash
  return { output: { final_state_hash: dscFinalState(graph.salt, state, lineage) }, findings: [] }
}
