/**
 * What a kernel is: a pure function of sealed sections. Verifiers run the same six again, so a record's findings are not
 * the operator's word. docs/pipeline.md, "Kernels".
 */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { type DeclaredName, type DeclaredSection, shown } from "../../artifacts/declared-sections.ts"
import type { KernelFinding } from "../../artifacts/kernel-schemas.ts"
import { isObject, member } from "../../vocabulary/json-members.ts"
import { FINDING_CODES, type FindingCode } from "../../vocabulary/kernel-findings.ts"
import type { DeclaredSources } from "./declared-view.ts"
import type { DeclaredValueCounts } from "./execution-sections.ts"
import type { KernelSources } from "./kernel-commitments.ts"

type KernelResult = { readonly output: JsonObject; readonly findings: readonly KernelFinding[] }

/** A kernel; undefined when a section it reads is withheld, so that it cannot be run again. */
export type KernelFunction = (sources: KernelSources, executionIds: readonly string[]) => KernelResult | undefined

/** Counts codes into findings, in the vocabulary's order. */
export function countFindings(codes: readonly FindingCode[]): readonly KernelFinding[] {
  return FINDING_CODES.flatMap(code => {
    const count = codes.filter(found => found === code).length
    return count === 0 ? [] : [{ code, count }]
  })
}

/** A subset of an object's own members, for commitments. */
export function pick(value: JsonValue | undefined, keys: readonly string[]): JsonObject {
  const out: Record<string, JsonValue> = {}
  for (const key of keys) {
    const found = member(value, key)
    if (found !== undefined) out[key] = found
  }
  return out
}

/** Scalars in a value of a declared section. */
export function countValues(value: JsonValue | undefined): number {
  if (value === undefined) return 0
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countValues(item), 0)
  if (isObject(value)) return Object.values(value).reduce<number>((sum, item) => sum + countValues(item), 0)
  return 1
}

/** Scalars per declared section, and at a close in what it declares. @param withheldCounts of withheld sections, which cannot be counted */
export function declaredValueCounts(
  sources: DeclaredSources,
  withheldCounts?: Partial<DeclaredValueCounts>,
): DeclaredValueCounts {
  const valuesOf = (held: DeclaredSection, withheldCount = 0): number => {
    const section = shown(held)
    return section === undefined ? withheldCount : countValues(section.declared)
  }
  const count = (name: DeclaredName): number => valuesOf(sources[name], withheldCounts?.[name])
  const { closing } = sources
  return {
    attested_context: count("attested_context"),
    request_substance: count("request_substance"),
    authorization_chain: count("authorization_chain"),
    regulatory_scaffolding: count("regulatory_scaffolding"),
    causal_graph: count("causal_graph"),
    reproducibility_context: count("reproducibility_context"),
    ...(closing === undefined ? {} : { closing: valuesOf(closing, withheldCounts?.closing) }),
  }
}
