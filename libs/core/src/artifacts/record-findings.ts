/**
 * The findings of a record: what is odd about a run that no gate stopped it for. They are sealed with the kernels, and every verifier
 * computes them again. A run that was refused before its kernels has none. docs/pipeline.md, "Findings".
 */
import type { KernelFinding } from "./kernel-schemas.ts"
import type { Sections } from "./sections.ts"

export const recordFindings = ({ efa }: Pick<Sections, "efa">): readonly KernelFinding[] =>
  efa?.kernels.flatMap(({ findings }) => findings) ?? []
