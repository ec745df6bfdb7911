/**
 * What a rule reads of a run: one row for each attribute of the Cedar context, with whose word it is. The schema that rules are validated
 * against, the request that the engine decides on and the list of attributes in the documentation are made from these rows. Pipeline, dry
 * run, `policy test` and verifiers build the request here. docs/policy-and-review.md, "What a rule reads".
 */
import { digest, type JsonObject, type JsonValue } from "@runseal/canonical"
import type { ActTable, ActType } from "../act/act-table.ts"
import { decimalText, decimalUnits } from "../act/decimal-text.ts"
import type { ActValue } from "../act/read-act.ts"
import type { DeclaredName, WithholdableName } from "../artifacts/declared-sections.ts"
import type { ShownEndUser } from "../artifacts/end-user.ts"
import { type AttestedField, CONTEXT_WORDS } from "../vocabulary/decision-codes.ts"
import { countedApprovers, readApprovers } from "../vocabulary/declared-approvers.ts"
import { isObject, member, textMember } from "../vocabulary/json-members.ts"

/** What a permit is asked for, as rules read it. */
export type ContextTerms = {
  readonly audience: string
  readonly redeem_required: boolean
  readonly valid_for_seconds: number
}

/** The end user, as rules read it. */
type ContextEndUser = Pick<ShownEndUser, "issuer" | "subject" | "audience" | "client" | "groups" | "groups_unreadable">

/** The facts that a policy decides on. Counts are integers from 0 to 2^53 − 1. */
export type PolicyFacts = {
  readonly program_id: string
  readonly route_id: string
  readonly registry_record_hash: string
  /** The authenticated key (`api-key-<N>`) or `anonymous`; never the caller's declaration. */
  readonly tenant_id: string
  readonly key_name?: string
  readonly execution_region: string
  /** RFC 3339 UTC with milliseconds; at a close that of its opening. */
  readonly admission_clock: string
  readonly payload_bytes: number
  /** Known where a rule reads it. */
  readonly payload_is_json?: boolean
  readonly has_ai_output: boolean
  /** Absent from a run without one; withheld, it is absent too, and no rule may read it then. */
  readonly end_user?: ContextEndUser
  /** Present exactly of a permit. */
  readonly terms?: ContextTerms
  /** Declared as used; of an opening those that it reserves. */
  readonly tokens: number
  /** Sections that are withheld are absent, and no rule may read them then. */
  readonly declared: Readonly<Partial<Record<DeclaredName, JsonObject>>>
}

/** An extension value of Cedar's JSON form. */
type Extension = { __extn: { fn: "decimal" | "datetime"; arg: string } }
type CedarValue = string | number | boolean | string[] | Extension | { [name: string]: CedarValue }
type CedarType = "String" | "Long" | "Bool" | "decimal" | "datetime" | "Set<String>"

/** Where an attribute comes from: a section whose withholding hides it, or what the service established. */
type ContextSource = DeclaredName | "end_user" | "service"

type Row = {
  readonly type: CedarType
  /** Rules ask `has` first. */
  readonly optional?: true
  readonly from: ContextSource
  /** @throws UnwritableValue for a value that Cedar cannot have exactly */
  readonly of: (facts: PolicyFacts) => CedarValue | undefined
}

/** A value of a run that the engine has no exact form for: to round it, or to leave it out, could change a deny into an allow. */
export class UnwritableValue extends Error {
  override readonly name = "UnwritableValue"
}

const service = (type: CedarType, of: Row["of"]): Row => ({ type, from: "service", of })
const optional = (row: Row): Row => ({ ...row, optional: true })
const from = (name: Exclude<ContextSource, "service">, type: CedarType, of: Row["of"]): Row => ({
  type,
  from: name,
  of,
})

const decimal = (arg: string): Extension => ({ __extn: { fn: "decimal", arg } })

const BOUND: Readonly<Record<string, Row>> = {
  program_id: service("String", ({ program_id }) => program_id),
  route_id: service("String", ({ route_id }) => route_id),
  audience: optional(service("String", ({ terms }) => terms?.audience)),
  redeem_required: optional(service("Bool", ({ terms }) => terms?.redeem_required)),
  valid_for_seconds: optional(service("Long", ({ terms }) => terms?.valid_for_seconds)),
}

const VERIFIED: Readonly<Record<string, Row>> = {
  tenant_id: service("String", ({ tenant_id }) => tenant_id),
  key_name: optional(from("request_substance", "String", ({ key_name }) => key_name)),
  region: service("String", ({ execution_region }) => execution_region),
  clock: service("datetime", ({ admission_clock: arg }) => ({ __extn: { fn: "datetime", arg } })),
  payload_bytes: service("Long", ({ payload_bytes }) => payload_bytes),
  payload_is_json: service("Bool", ({ payload_is_json }) => payload_is_json),
  has_ai_output: service("Bool", ({ has_ai_output }) => has_ai_output),
}

const person = (type: CedarType, of: (endUser: ContextEndUser) => CedarValue | undefined): Row =>
  from("end_user", type, ({ end_user }) => end_user && of(end_user))

const END_USER: Readonly<Record<string, Row>> = {
  issuer: person("String", ({ issuer }) => issuer),
  subject: person("String", ({ subject }) => subject),
  audience: person("String", ({ audience }) => audience),
  client: optional(person("String", ({ client }) => client)),
  groups: person("Set<String>", ({ groups = [] }) => [...groups]),
}

const DECLARED: Readonly<Record<string, Row>> = {
  registry_record_hash: service("String", ({ registry_record_hash }) => registry_record_hash),
  tokens: service("Long", ({ tokens }) => tokens),
  approver_ids: from("authorization_chain", "Set<String>", facts => approverIds(facts)),
  approver_count: from("authorization_chain", "Long", facts => approverIds(facts).length),
  breached_thresholds: from("authorization_chain", "Set<String>", ({ declared }) =>
    distinct(
      items(member(declared.authorization_chain, "threshold_checks"))
        .filter(check => member(check, "breached") === true)
        .map(check => textMember(check, "name")),
    ),
  ),
  human_in_loop_performed: optional(
    from("authorization_chain", "Bool", ({ declared }) => {
      const performed = member(member(declared.authorization_chain, "human_in_loop"), "performed")
      return typeof performed === "boolean" ? performed : undefined
    }),
  ),
  data_labels: from("regulatory_scaffolding", "Set<String>", ({ declared }) => {
    const classes = member(declared.regulatory_scaffolding, "data_classification")
    return isObject(classes) ? distinct(Object.values(classes).flatMap(items)) : []
  }),
  effect_kinds: from("causal_graph", "Set<String>", ({ declared }) =>
    distinct(items(member(declared.causal_graph, "effect_log")).map(effect => textMember(effect, "effect_kind"))),
  ),
}

const ATTESTED_TYPES: Readonly<Record<AttestedField, CedarType>> = {
  attested: "Bool",
  actor_id: "String",
  actor_role: "String",
  authorization_policy: "String",
  actor_signature: "String",
  model_provider: "String",
  model_name: "String",
  model_version: "String",
  model_temperature: "decimal",
  prompt_hash: "String",
  decision_kind: "String",
  decision_result: "String",
  decision_note: "String",
}
const ATTESTED: Readonly<Record<string, Row>> = Object.fromEntries(
  Object.entries(ATTESTED_TYPES).map(([name, type]) => [
    name,
    optional(
      from("attested_context", type, ({ declared }) => attestedValue(type, member(declared.attested_context, name))),
    ),
  ]),
)

/**
 * The rows by the path of the record that holds them. `verified.end_user` and `declared.attested` are records, and absent where there is no
 * end user, and where nothing is attested.
 */
export const CONTEXT_ROWS = {
  bound: BOUND,
  verified: VERIFIED,
  "verified.end_user": END_USER,
  declared: DECLARED,
  "declared.attested": ATTESTED,
} as const satisfies Record<string, Readonly<Record<string, Row>>>

/** The attributes of a record of the context, by its path; of the context itself by "". */
export function attributesOf(
  path: string,
  { acts = [], act }: { acts?: readonly ActTable[]; act?: string } = {},
): readonly string[] {
  if (path === "") return act === undefined ? CONTEXT_WORDS.slice(1) : CONTEXT_WORDS
  if (path === "act") return Object.keys(acts.find(({ name }) => name === act)?.names ?? {})
  const rows = Object.entries(CONTEXT_ROWS).find(([record]) => record === path)?.[1] ?? {}
  const records = Object.keys(CONTEXT_ROWS).filter(record => record.startsWith(`${path}.`))
  return [...Object.keys(rows), ...records.map(record => record.slice(path.length + 1))]
}

const items = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : [])
const distinct = (values: readonly (JsonValue | undefined)[]): string[] => [
  ...new Set(values.filter(value => typeof value === "string")),
]

const approverIds = ({ declared }: PolicyFacts): string[] =>
  countedApprovers(readApprovers(declared.authorization_chain), textMember(declared.attested_context, "actor_id"))

function attestedValue(type: CedarType, value: JsonValue | undefined): CedarValue | undefined {
  if (typeof value === "number" && type === "decimal") {
    const units = decimalUnits(String(value))
    const text = units === undefined ? undefined : decimalText(units)
    if (text === undefined) throw new UnwritableValue()
    return decimal(text)
  }
  return typeof value === "string" || typeof value === "boolean" ? value : undefined
}

/** Cedar's types of act values. */
const ACT_CEDAR_TYPES: Readonly<Record<ActType, CedarType>> = {
  ascii: "String",
  string: "String",
  integer: "Long",
  decimal: "decimal",
  boolean: "Bool",
  strings: "Set<String>",
  sum: "decimal",
  max: "decimal",
}

/** The action of runs that no act table speaks of. */
const PLAIN_ACTION = "execute"

const entry = ([name, { type, optional: isOptional }]: [string, Row]): string =>
  `${name}${isOptional === true ? "?" : ""}: ${type}`
const record = (rows: Readonly<Record<string, Row>>): string => Object.entries(rows).map(entry).join(", ")

const actRecord = ({ names }: ActTable): string =>
  Object.entries(names)
    .map(([name, row]) => `${name}${row.optional === true ? "?" : ""}: ${ACT_CEDAR_TYPES[row.type]}`)
    .join(", ")

const action = (name: string, act: string): string =>
  `action "${name}" appliesTo { principal: [Tenant], resource: [Program], context: {${act} bound: Bound, verified: Verified, declared: Declared } };`

/** The Cedar schema that the rules of a policy are strictly validated against, so that a misspelt attribute never loads. */
export const cedarSchema = (tables: readonly ActTable[]): string =>
  [
    `type Bound = { ${record(BOUND)} };`,
    `type EndUser = { ${record(END_USER)} };`,
    `type Verified = { ${record(VERIFIED)}, end_user?: EndUser };`,
    `type Attested = { ${record(ATTESTED)} };`,
    `type Declared = { ${record(DECLARED)}, attested?: Attested };`,
    "entity Tenant, Program;",
    action(PLAIN_ACTION, ""),
    ...tables.map(table => action(table.name, ` act: { ${actRecord(table)} },`)),
  ].join("\n")

/** Paths of the context that rules read, as `bound.route_id` and `act.amount`. */
export type ContextReads = ReadonlySet<string>

/** The act that a request is about. */
type RequestAct = { readonly name: string; readonly values: readonly ActValue[] }

export type CedarRequest = {
  readonly principal: { readonly type: "Tenant"; readonly id: string }
  readonly action: { readonly type: "Action"; readonly id: string }
  readonly resource: { readonly type: "Program"; readonly id: string }
  readonly context: { [word: string]: CedarValue }
}

function cedarAct({ type, value }: ActValue): CedarValue {
  if (typeof value === "object") return [...value]
  return typeof value === "string" && ACT_CEDAR_TYPES[type] === "decimal" ? decimal(value) : value
}

function read(
  path: string,
  rows: Readonly<Record<string, Row>>,
  facts: PolicyFacts,
  reads: ContextReads,
): Record<string, CedarValue> {
  const found: Record<string, CedarValue> = {}
  for (const [name, row] of Object.entries(rows)) {
    if (!reads.has(`${path}.${name}`)) continue
    const value = row.of(facts)
    if (value !== undefined) found[name] = value
  }
  return found
}

/**
 * The request that the engine decides on. It has the attributes that rules of the policy read and no others, so that a withheld section
 * that no rule reads hides nothing of it.
 * @throws UnwritableValue for a value that Cedar cannot have exactly
 */
export function cedarRequest(facts: PolicyFacts, act: RequestAct | undefined, reads: ContextReads): CedarRequest {
  const attested = facts.declared.attested_context
  const hasAttested = attested !== undefined && reads.has("declared.attested")
  const hasEndUser = facts.end_user !== undefined && reads.has("verified.end_user")
  const values = (act?.values ?? []).filter(({ name }) => reads.has(`act.${name}`))
  return {
    principal: { type: "Tenant", id: facts.tenant_id },
    action: { type: "Action", id: act?.name ?? PLAIN_ACTION },
    resource: { type: "Program", id: facts.program_id },
    context: {
      ...(act === undefined ? {} : { act: Object.fromEntries(values.map(value => [value.name, cedarAct(value)])) }),
      bound: read("bound", BOUND, facts, reads),
      verified: {
        ...read("verified", VERIFIED, facts, reads),
        ...(hasEndUser ? { end_user: read("verified.end_user", END_USER, facts, reads) } : {}),
      },
      declared: {
        ...read("declared", DECLARED, facts, reads),
        ...(hasAttested ? { attested: read("declared.attested", ATTESTED, facts, reads) } : {}),
      },
    },
  }
}

/** Sections that the attributes of a policy come from, in a fixed order. */
export function sectionsRead(reads: ContextReads): readonly (DeclaredName | "act" | "end_user")[] {
  const found = new Set<DeclaredName | "act" | "end_user">()
  if ([...reads].some(path => path.startsWith("act."))) found.add("act")
  for (const [path, rows] of Object.entries(CONTEXT_ROWS))
    for (const [name, row] of Object.entries<Row>(rows))
      if (row.from !== "service" && reads.has(`${path}.${name}`)) found.add(row.from)
  // Who approves is held against the actor.
  if (["declared.approver_ids", "declared.approver_count"].some(path => reads.has(path))) found.add("attested_context")
  if (reads.has("declared.attested")) found.add("attested_context")
  if (reads.has("verified.end_user")) found.add("end_user")
  return [...found].toSorted()
}

/**
 * What `context_hash` commits to: the request, under the salts of the sections that it was read from, so that nobody guesses a withheld one.
 * @param salts by section
 */
export const contextHash = (
  request: CedarRequest,
  salts: Readonly<Partial<Record<WithholdableName, string>>>,
): string => digest({ kind: "vfa.policy_context.v1", salts: { ...salts }, request: { ...request } })
