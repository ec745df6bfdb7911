/** Declared content, section by section: each value as the caller declared it. */
import type { JsonObject } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { DECLARED_NAMES, type DeclaredName } from "@runseal/core/artifacts/declared-sections"
import { member } from "@runseal/core/vocabulary/json-members"
import type { Block } from "@runseal/pdf/block"
import type { ItemColumn } from "../declared.ts"
import { CALLERS_WORD, declaredIn, declaredValues, itemTable, valueLine, without, withoutContent } from "../declared.ts"
import { type Fact, fieldLabel, remark, subsection } from "../spans.ts"
import type { Part } from "../subject.ts"

const column = (title: string, share: number, ...keys: readonly string[]): ItemColumn => ({
  title,
  share,
  members: keys.map(key => ({ key })),
})

const APPROVERS: readonly ItemColumn[] = [
  column("Order", 7, "order"),
  {
    title: "Approver",
    share: 28,
    members: [{ key: "actor_id" }, { key: "actor_role", label: "role" }],
  },
  {
    title: "Approved at; request, signature, comment",
    share: 65,
    members: [
      { key: "approved_at" },
      { key: "approved_request_hash", label: "request" },
      { key: "signature", label: "signature" },
      { key: "comment", label: "comment" },
    ],
  },
]

/** Threshold checks, as the caller states them. */
const THRESHOLDS: readonly ItemColumn[] = [
  column("Check", 30, "name"),
  column("Observed", 17, "observed_value"),
  column("Operator", 12, "operator"),
  column("Threshold", 17, "threshold_value"),
  column("Unit", 10, "unit"),
  column("Breached", 14, "breached"),
]

const EFFECTS: readonly ItemColumn[] = [
  column("Effect", 14, "effect_kind"),
  column("Target", 18, "target"),
  column("Status", 14, "status"),
  {
    title: "Issued at; acknowledgement hash",
    share: 54,
    members: [{ key: "issued_at" }, { key: "ack_hash" }],
  },
]

/** Fields of `attested_context` on the decision, and on the model, in the order of a report. */
export const DECISION_FIELDS = [
  "attested",
  "actor_id",
  "actor_role",
  "authorization_policy",
  "decision_kind",
  "decision_result",
  "decision_note",
  "actor_signature",
] as const
export const MODEL_FIELDS = [
  "model_provider",
  "model_name",
  "model_version",
  "model_temperature",
  "prompt_hash",
] as const

/** Those fields of `attested_context` that a list names and the caller declared. */
export function attestedFacts(bundle: Bundle, names: readonly string[]): readonly Fact[] {
  const declared = declaredIn(bundle, "attested_context")
  if (declared === undefined) return []
  return names
    .filter(name => Object.hasOwn(declared, name))
    .map(name => ({ label: fieldLabel(name), value: valueLine(declared[name]) }))
}

/** Approvers and threshold checks as tables, then every other value. */
const chain = (declared: JsonObject): readonly Block[] => {
  const approvers = member(declared, "approvers")
  return [
    ...(approvers === undefined
      ? []
      : [remark("Signatures of approvers are shown as declared; the service verifies none of them.")]),
    ...itemTable("Approvers", approvers, APPROVERS),
    ...itemTable("Threshold checks", member(declared, "threshold_checks"), THRESHOLDS),
    ...declaredValues(without(declared, ["approvers", "threshold_checks"])),
  ]
}

const effects = (declared: JsonObject): readonly Block[] => [
  remark("The service performs none of these effects and observes none: they are what the caller reports."),
  ...itemTable("Effects", member(declared, "effect_log"), EFFECTS),
  ...declaredValues(without(declared, ["effect_log"])),
]

const CONTENT: Readonly<
  Record<DeclaredName, readonly [title: string, blocks: (declared: JsonObject) => readonly Block[]]>
> = {
  attested_context: ["Attested context", declaredValues],
  request_substance: ["Request substance", declaredValues],
  authorization_chain: ["Authorization and approval chain", chain],
  regulatory_scaffolding: ["Classification and regulation", declaredValues],
  causal_graph: ["Reported effects and related runs", effects],
  reproducibility_context: ["Reproducibility context", declaredValues],
}

/** What the caller declared in one section; no block without content. */
export function declaredBlocks(bundle: Bundle, name: DeclaredName): readonly Block[] {
  const declared = declaredIn(bundle, name)
  return declared === undefined ? [] : CONTENT[name][1](declared)
}

/** A section of its own for one declared section: its content, or why there is none. */
export const declaredPart =
  (name: DeclaredName): Part =>
  ({ bundle }) => {
    const content = declaredBlocks(bundle, name)
    return content.length === 0 ? withoutContent(bundle, [name]) : [CALLERS_WORD, ...content]
  }

/** All that the caller declared, section by section. */
export const declaredByCaller: Part = ({ bundle }) => {
  const sections = DECLARED_NAMES.flatMap(name => subsection(CONTENT[name][0], declaredBlocks(bundle, name)))
  return [...(sections.length === 0 ? [] : [CALLERS_WORD]), ...sections, ...withoutContent(bundle)]
}
