/**
 * The six sections that carry what the caller declared.
 * The caller's content is under `declared`, so that it can never pose as a fact of the service; what the server itself
 * saw of the caller is under `origin` of request_substance. docs/formats.md section 2.2.
 */
import type { JsonObject } from "@runseal/canonical"
import * as v from "valibot"
import { countSchema, nonEmptySchema, sha256Schema } from "../vocabulary/scalars.ts"
import { jsonObjectSchema } from "./json-object-schema.ts"

export const DECLARED_NAMES = [
  "attested_context",
  "request_substance",
  "authorization_chain",
  "regulatory_scaffolding",
  "causal_graph",
  "reproducibility_context",
] as const
export type DeclaredName = (typeof DECLARED_NAMES)[number]

/** The sections of what the caller declares: the six, and what a close adds to them. */
export const CONTENT_NAMES = [...DECLARED_NAMES, "closing"] as const
export type ContentName = (typeof CONTENT_NAMES)[number]
/** The sections whose content may be withheld: those, the end user, what the service read of the payload, and who approved. */
export const WITHHOLDABLE_NAMES = [...CONTENT_NAMES, "end_user", "act", "approvals"] as const
export type WithholdableName = (typeof WITHHOLDABLE_NAMES)[number]

/** What the server saw of the caller. Address and agent are HMACs under a secret of the deployment. */
export type Origin = {
  readonly source_ip_hash: string
  readonly user_agent_hash: string
  readonly authentication: {
    readonly method: "anonymous" | "api_key"
    /** 0 for an anonymous caller. */
    readonly api_key_id: number
    readonly api_key_name?: string
  }
}

export type ShownDeclared = {
  readonly kind: string
  /** Keeps a withheld section from being guessed from its hash: 64 hex, derived from a seed that is never shown. */
  readonly salt: string
  readonly declared?: JsonObject
  readonly origin?: Origin
  readonly hash: string
}
/** The sole permitted alteration of a bundle: the content is removed, its hash remains. */
export type WithheldDeclared = { readonly kind: string; readonly withheld: true; readonly hash: string }
export type DeclaredSection = ShownDeclared | WithheldDeclared
export type DeclaredSections = Readonly<Record<DeclaredName, DeclaredSection>>

/** Whether the section's content is shown. */
export const isShown = (section: DeclaredSection): section is ShownDeclared => !("withheld" in section)

/** A section's shown form; undefined when it is withheld. */
export const shown = (section: DeclaredSection): ShownDeclared | undefined => (isShown(section) ? section : undefined)

/** `kind` of a declared section. */
export const declaredKind = (name: ContentName): string => `vfa.${name}.v1`

const originSchema: v.GenericSchema<unknown, Origin> = v.strictObject({
  source_ip_hash: sha256Schema,
  user_agent_hash: sha256Schema,
  authentication: v.strictObject({
    method: v.picklist(["anonymous", "api_key"]),
    api_key_id: countSchema,
    api_key_name: v.exactOptional(nonEmptySchema),
  }),
})

const shownEntries = { salt: sha256Schema, declared: v.exactOptional(jsonObjectSchema), hash: sha256Schema }
const withheldSchema = (name: DeclaredName): v.GenericSchema<unknown, WithheldDeclared> =>
  v.strictObject({ kind: v.literal(declaredKind(name)), withheld: v.literal(true), hash: sha256Schema })
const schemaOf = (name: DeclaredName): v.GenericSchema<unknown, DeclaredSection> =>
  v.union([v.strictObject({ kind: v.literal(declaredKind(name)), ...shownEntries }), withheldSchema(name)])

export const DECLARED_SCHEMAS: Readonly<Record<DeclaredName, v.GenericSchema<unknown, DeclaredSection>>> = {
  attested_context: schemaOf("attested_context"),
  request_substance: v.union([
    v.strictObject({ kind: v.literal(declaredKind("request_substance")), ...shownEntries, origin: originSchema }),
    withheldSchema("request_substance"),
  ]),
  authorization_chain: schemaOf("authorization_chain"),
  regulatory_scaffolding: schemaOf("regulatory_scaffolding"),
  causal_graph: schemaOf("causal_graph"),
  reproducibility_context: schemaOf("reproducibility_context"),
}
/** The section as it is shown when its content is withheld. Its hash remains, so every other hash is still right. */
export const withhold = <Kind extends string>(section: { readonly kind: Kind; readonly hash: string }) => ({
  kind: section.kind,
  withheld: true as const,
  hash: section.hash,
})
