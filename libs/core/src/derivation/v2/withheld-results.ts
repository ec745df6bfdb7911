/**
 * Results that were computed from withheld sections: those of the kernels that read one, and the numbers of their values. The record names
 * the hash of each: the kernel's ExecutionID, and the hash of the leakage bundle. docs/formats.md section 2.2.
 */
import type { SealedBundle, WithheldResults } from "../../artifacts/bundle-schema.ts"
import { CONTENT_NAMES, type ContentName } from "../../artifacts/declared-sections.ts"
import type { SealedSections } from "../../artifacts/sealed-sections.ts"
import type { Sections } from "../../artifacts/sections.ts"
import type { Kernel } from "../../vocabulary/outcomes.ts"
import { derivedNames } from "./derive-sections.ts"
import { unrepeatableKernels } from "./run-kernels.ts"

/** What a record that has these derived sections needs results of. */
function neededResults(
  held: SealedSections,
  derived: readonly string[],
): { readonly kernels: readonly Kernel[]; readonly sections: readonly ContentName[] } {
  const { envelope } = held
  const ran = envelope !== undefined && derived.includes("efa")
  return {
    kernels: ran ? unrepeatableKernels({ ...held, envelope }) : [],
    sections: derived.includes("leakage_bundle") ? CONTENT_NAMES.filter(name => "withheld" in (held[name] ?? {})) : [],
  }
}

/** The results that the full form of a record gives; undefined when it needs none. */
export function withheldResults(sections: Sections): WithheldResults | undefined {
  const { efa, leakage_bundle: leakage } = sections
  const needed = neededResults(sections, Object.keys(sections))
  if (needed.sections.length === 0 || leakage === undefined) return undefined
  const records = efa?.kernels.filter(({ kernel }) => needed.kernels.includes(kernel)) ?? []
  return {
    kernels: Object.fromEntries(records.map(({ kernel, output, findings }) => [kernel, { output, findings }])),
    declared_values: Object.fromEntries(needed.sections.map(name => [name, leakage.declared_values[name]])),
  }
}

/** Why the results of a record are not exactly those that it needs; undefined when they are. */
export function withheldProblemV2(record: SealedBundle): string | undefined {
  const { sections: held, withheld_results: results } = record
  const needed = neededResults(held, derivedNames(record))
  if (results === undefined)
    return needed.sections.length === 0 ? undefined : "withheld_results: needed, since a section is withheld"
  if (needed.sections.length === 0)
    return "withheld_results: not needed, since nothing is computed from a withheld section"
  const same =
    isSameSet(Object.keys(results.kernels), needed.kernels) &&
    isSameSet(Object.keys(results.declared_values), needed.sections)
  return same
    ? undefined
    : "withheld_results: must be of exactly the withheld sections and of the kernels that read them"
}

const isSameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every(name => other.includes(name))
