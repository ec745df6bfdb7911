/** Runs the six kernels in their order; the same function serves the pipeline and every verifier. */
import { DECLARED_NAMES, isShown } from "../artifacts/declared-sections.ts"
import type { KernelRecord } from "../artifacts/kernel-schemas.ts"
import type { KernelSources } from "../formulas/kernels.ts"
import { kernelInputHash, kernelRecord } from "../formulas/kernels.ts"
import type { Kernel } from "../vocabulary/outcomes.ts"
import { KERNELS } from "../vocabulary/outcomes.ts"
import { aivp } from "./aivp.ts"
import { dcae } from "./dcae.ts"
import { dsc } from "./dsc.ts"
import { dse } from "./dse.ts"
import type { KernelFunction } from "./kernel.ts"
import { shown } from "./kernel.ts"
import { nrep } from "./nrep.ts"
import { tok } from "./tok.ts"

const FUNCTIONS: Readonly<Record<Kernel, KernelFunction>> = {
  DSE: dse,
  TOK: tok,
  DSC: dsc,
  NREP: nrep,
  AIVP: aivp,
  DCAE: dcae,
}

/**
 * Six kernel records. Where a withheld section keeps a kernel from running, `stated` (the record's own kernel entries)
 * stands in for it; without `stated` that is an error of the caller.
 */
export function runKernels(sources: KernelSources, stated: readonly KernelRecord[] = []): readonly KernelRecord[] {
  const records: KernelRecord[] = []
  for (const kernel of KERNELS) {
    const outputs = records.map(record => record.output_hash)
    const result = FUNCTIONS[kernel](sources, outputs) ?? stated.find(record => record.kernel === kernel)
    if (result === undefined) throw new Error(`kernel ${kernel} needs a section that is withheld`)
    records.push(kernelRecord(kernel, kernelInputHash(kernel, sources, outputs), result.output, result.findings))
  }
  return records
}

/** Kernels that cannot be run again on these sources because a section they read is withheld. */
export const unrepeatableKernels = (sources: KernelSources): readonly Kernel[] =>
  isWhole(sources) ? [] : KERNELS.filter(kernel => FUNCTIONS[kernel](sources, []) === undefined)

/** Whether everything that a kernel may read is there. */
const isWhole = (sources: KernelSources): boolean =>
  DECLARED_NAMES.every(name => isShown(sources[name])) && shown(sources.request_substance)?.origin !== undefined
