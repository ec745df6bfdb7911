/** Preimages of what exists before any kernel runs: payload, declared sections, envelope. docs/formats.md section 2. */
import type { JsonObject } from "@runseal/canonical"
import { digest, sha256Hex, utf8Encode } from "@runseal/canonical"
import type { ReadAct } from "../act/read-act.ts"
import type { ShownAct } from "../artifacts/act-section.ts"
import type { GivenApprovals, ShownApprovals } from "../artifacts/approvals.ts"
import type { DeclaredName, DeclaredSections, Origin, ShownDeclared } from "../artifacts/declared-sections.ts"
import { declaredKind } from "../artifacts/declared-sections.ts"
import type { EndUser, EndUserSection, ShownEndUser } from "../artifacts/end-user.ts"
import type { EnvelopeSection, PayloadSection, SystemProvenanceSection } from "../artifacts/sealed-sections.ts"
import type { Enforcement } from "../vocabulary/scalars.ts"
import type { Moment, RunInputs } from "./moment.ts"
import { envelopeId, sectionSalt } from "./moment.ts"
import type { Unsealed } from "./seal.ts"

/** Hash and length of the payload and, when the request carries one, of the AI output. Neither text is stored. */
export function payloadSection(payload: string, aiOutput: string | undefined): Unsealed<PayloadSection> {
  const bytes = utf8Encode(payload)
  const body = { kind: "vfa.payload.v1", payload_hash: sha256Hex(bytes), payload_bytes: bytes.length } as const
  if (aiOutput === undefined) return body
  const output = utf8Encode(aiOutput)
  return { ...body, ai_output_hash: sha256Hex(output), ai_output_bytes: output.length }
}

/** The payload of a close: that of its opening, whose text is gone, and the AI output that the close carries. */
export function closedPayloadSection(
  { hash: _, ...opened }: PayloadSection,
  aiOutput: string | undefined,
): Unsealed<PayloadSection> {
  if (aiOutput === undefined) return opened
  const output = utf8Encode(aiOutput)
  return { ...opened, ai_output_hash: sha256Hex(output), ai_output_bytes: output.length }
}

/** A declared section: the caller's content nested under `declared`, salted, with what the server saw beside it. */
export function declaredSection(
  name: DeclaredName,
  moment: Moment,
  declared: JsonObject | undefined,
  origin?: Origin,
): Unsealed<ShownDeclared> {
  return {
    kind: declaredKind(name),
    salt: sectionSalt(moment, name),
    ...(declared === undefined ? {} : { declared }),
    ...(origin === undefined ? {} : { origin }),
  }
}

/** What the service read of the payload by an act table. */
export const actSection = (
  moment: Pick<Moment, "seed">,
  table: string,
  { values, unreadable }: ReadAct,
): Unsealed<ShownAct> => ({
  kind: "vfa.act.v1",
  salt: sectionSalt(moment, "act"),
  table,
  values: [...values],
  unreadable: [...unreadable],
})

/** How a request for an approval ended, and who decided what. */
export const approvalsSection = (
  moment: Pick<Moment, "seed">,
  { decisions, ...request }: GivenApprovals,
): Unsealed<ShownApprovals> => ({
  kind: "vfa.approvals.v1",
  salt: sectionSalt(moment, "approvals"),
  ...request,
  decisions: [...decisions],
})

/** Names a token by its issuer and id (RFC 7519 section 4.1.7), without showing it. */
export const tokenHash = (issuer: string, jti: string): string => digest({ kind: "vfa.end_user_token.v1", issuer, jti })

/** The end user of a run. @param named the groups that rules of the policy name; undefined where no rule reads groups */
export function endUserSection(
  moment: Pick<Moment, "seed">,
  { groups, ...person }: EndUser,
  named: ReadonlySet<string> | undefined,
): Unsealed<ShownEndUser> {
  const section = { kind: "vfa.end_user.v1", salt: sectionSalt(moment, "end_user"), ...person } as const
  if (named === undefined) return section
  if (groups === undefined) return { ...section, groups_unreadable: true }
  return { ...section, groups: [...new Set(groups)].filter(group => named.has(group)).toSorted() }
}

/** The same person under another salt, for a run that goes on from a request. */
export const resaltedEndUser = (
  moment: Pick<Moment, "seed">,
  { salt: _salt, hash: _hash, ...person }: ShownEndUser,
): Unsealed<ShownEndUser> => ({ ...person, salt: sectionSalt(moment, "end_user") })

/** One hash over the six declared sections. */
export const declaredSectionsHash = (sections: DeclaredSections): string =>
  digest({
    kind: "vfa.declared_sections.v1",
    attested_context: sections.attested_context.hash,
    request_substance: sections.request_substance.hash,
    authorization_chain: sections.authorization_chain.hash,
    regulatory_scaffolding: sections.regulatory_scaffolding.hash,
    causal_graph: sections.causal_graph.hash,
    reproducibility_context: sections.reproducibility_context.hash,
  })

type EnvelopeFacts = Omit<RunInputs, "payload_hash"> & {
  readonly tenant_id: string
  readonly execution_region: string
  /** Present exactly for a run whose decisions were observed and not enforced. */
  readonly enforcement?: Enforcement | undefined
}

/** Stage 1, DOG: the run's identity. */
export function envelopeSection(
  facts: EnvelopeFacts,
  payload: PayloadSection,
  sections: DeclaredSections & { readonly end_user?: EndUserSection },
  moment: Pick<Moment, "at" | "nonce">,
): Unsealed<EnvelopeSection> {
  const inputs = {
    program_id: facts.program_id,
    route_id: facts.route_id,
    registry_record_hash: facts.registry_record_hash,
    payload_hash: payload.payload_hash,
  }
  return {
    kind: "vfa.envelope.v2",
    envelope_id: envelopeId(inputs, moment),
    ...inputs,
    tenant_id: facts.tenant_id,
    execution_region: facts.execution_region,
    admission_clock: moment.at,
    run_nonce: moment.nonce,
    declared_sections_hash: declaredSectionsHash(sections),
    ...(sections.end_user === undefined ? {} : { end_user_hash: sections.end_user.hash }),
    ...(facts.enforcement === undefined ? {} : { enforcement: facts.enforcement }),
  }
}

export type ProvenanceFacts = Omit<SystemProvenanceSection, "kind" | "mode" | "disclosure" | "hash">

/** What made the record. It is the operator's statement about his own software, and says so. */
export const systemProvenanceSection = (facts: ProvenanceFacts): Unsealed<SystemProvenanceSection> => ({
  kind: "vfa.system_provenance.v1",
  ...facts,
  mode: "software",
  disclosure: "Stated by the service about itself: no hardware or third party vouches for it.",
})
