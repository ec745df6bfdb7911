/**
 * What a kernel is: a pure function of sealed sections. Verifiers run the same six again, so a record's findings are not
 * the operator's word. docs/pipeline.md, "Kernels".
 */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import type { DeclaredName, DeclaredSection, ShownDeclared } from "../artifacts/declared-sections.ts"
import { isShown } from "../artifacts/declared-sections.ts"
import type { KernelFinding } from "../artifacts/kernel-schemas.ts"
import type { KernelSources } from "../formulas/kernels.ts"
import { isObject, member } from "../vocabulary/json-members.ts"
import { FINDING_CODES, type FindingCode } from "../vocabulary/kernel-findings.ts"

type KernelResult = { readonly output: JsonObject; readonly findings: readonly KernelFinding[] }

/** A kernel; undefined when a section it reads is withheld, so that it cannot be run again. */
export type KernelFunction = (sources: KernelSources, outputs: readonly string[]) => KernelResult | undefined

/** Counts codes into findings, in the vocabulary's order. */
export function countFindings(codes: readonly FindingCode[]): readonly KernelFinding[] {
  return FINDING_CODES.flatMap(code => {
    const count = codes.filter(found => found === code).length
    return count === 0 ? [] : [{ code, count }]
  })
}

/** A section's shown form; undefined when it is withheld. */
export const shown = (section: DeclaredSection): ShownDeclared | undefined => (isShown(section) ? section : undefined)

/** A subset of an object's own members, for commitments. */
export function pick(value: JsonValue | undefined, keys: readonly string[]): JsonObject {
  const out: Record<string, JsonValue> = {}
  for (const key of keys) {
    const found = member(value, key)
    if (found !== undefined) out[key] = found
  }
  return out
}

/** Scalars in a declared section's content. */
export function countValues(value: JsonValue | undefined): number {
  if (value === undefined) return 0
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countValues(item), 0)
  if (isObject(value)) return Object.values(value).reduce<number>((sum, item) => sum + countValues(item), 0)
  return 1
}

/** Scalars per declared section; undefined for a withheld one. */
export const declaredValueCount = (sources: KernelSources, name: DeclaredName): number | undefined => {
  const section = shown(sources[name])
  return section === undefined ? undefined : countValues(section.declared)
}
