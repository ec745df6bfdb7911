/** DSE, state: commits to what was admitted. */
import { dseCommitment } from "../formulas/kernels.ts"
import type { KernelFunction } from "./kernel.ts"

export const dse: KernelFunction = sources => ({
  output: { state_commitment: dseCommitment(sources.envelope, sources.payload) },
  findings: [],
})
