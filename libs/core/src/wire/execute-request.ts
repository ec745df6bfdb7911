/**
 * `POST /execute` on the wire. docs/api.md, "POST /execute".
 * The schemas judge what was received; what is sealed is the received value itself, never a schema's output.
 */
import { BASE64_PATTERN, decodeBase64, type JsonObject, type JsonValue } from "@runseal/canonical"
import * as v from "valibot"
import { isJsonObject, jsonObjectSchema, SHAPE } from "../artifacts/json-object-schema.ts"
import { FIRST_ISSUE } from "../artifacts/parse-exact.ts"
import { foreignField, isForeignKey, issueReason } from "../artifacts/schema-issue.ts"
import { countSchema, enforcementSchema, routeIdSchema, type Shape, sha256Schema } from "../vocabulary/scalars.ts"

/** An optional member; null is treated as absent. */
export const opt = <Schema extends v.GenericSchema>(schema: Schema) => v.exactOptional(v.nullable(schema))
const text = v.string()
const base64 = v.pipe(
  v.string(),
  v.check(value => decodeBase64(value) !== undefined, "must be base64"),
  v.metadata({ pattern: BASE64_PATTERN.source }),
)

const attestedShape = v.strictObject({
  attested: opt(v.boolean()),
  actor_id: opt(text),
  actor_role: opt(text),
  authorization_policy: opt(text),
  /** Base64; sealed as declared, never verified. */
  actor_signature: opt(base64),
  model_provider: opt(text),
  model_name: opt(text),
  model_version: opt(text),
  model_temperature: opt(v.number()),
  prompt_hash: opt(sha256Schema),
  decision_kind: opt(text),
  decision_result: opt(text),
  decision_note: opt(text),
})
type Attested = Shape<typeof attestedShape>
/** What `attested_context` declares, without the members that were null. */
export type AttestedContext = { readonly [Field in keyof Attested]: NonNullable<Attested[Field]> }
/** The fields `attested_context` accepts; any other is refused, also with null. */
export const attestedContextSchema = objectOf<AttestedContext>(attestedShape)

/** An object with these named fields; others are sealed as received. */
const fields = <const Entries extends v.ObjectEntries>(entries: Entries): v.GenericSchema<unknown, unknown> =>
  objectOf(v.looseObject(entries))

const isTextList = (value: JsonValue): boolean => Array.isArray(value) && value.every(item => typeof item === "string")

/** Categories and their labels, whatever a category is called. */
const labelLists = v.pipe(
  jsonObjectSchema,
  v.check(
    lists => Object.values(lists).every(list => list === null || isTextList(list)),
    "must map each category to a list of strings",
  ),
  v.metadata({ additionalProperties: { type: ["array", "null"], items: { type: "string" } } }),
)

const scalar = v.union([v.number(), text])
const origin = v.pipe(
  jsonObjectSchema,
  v.check(
    value => !Object.hasOwn(value, "source_ip_hash") && !Object.hasOwn(value, "user_agent_hash"),
    "source_ip_hash and user_agent_hash are computed by the server and must not be supplied",
  ),
  v.check(
    value => !Object.hasOwn(value, "end_user"),
    "end_user is established by the server from the header X-End-User-Token and must not be supplied",
  ),
  v.metadata({ properties: { source_ip_hash: false, user_agent_hash: false, end_user: false } }),
)

/** Named members of `request_substance`. */
export const REQUEST_SUBSTANCE = {
  prompt: opt(fields({ hash: opt(text), template_id: opt(text) })),
  output: opt(fields({ hash: opt(text) })),
  post_processing: opt(v.union([v.array(v.unknown()), jsonObjectSchema])),
  cost: opt(
    fields({ input_tokens: opt(countSchema), output_tokens: opt(countSchema), total_tokens: opt(countSchema) }),
  ),
  latency: opt(v.union([v.number(), jsonObjectSchema])),
  origin: opt(origin),
  authentication: opt(jsonObjectSchema),
}

const approver = fields({
  order: opt(countSchema),
  actor_id: opt(text),
  actor_role: opt(text),
  approved_at: opt(text),
  approved_request_hash: opt(text),
  signature: opt(text),
  comment: opt(text),
})

const authorizationChainSchema = fields({
  approvers: opt(v.array(approver)),
  threshold_checks: opt(
    v.array(
      fields({
        name: opt(text),
        threshold_value: opt(scalar),
        observed_value: opt(scalar),
        unit: opt(text),
        operator: opt(text),
        breached: opt(v.boolean()),
      }),
    ),
  ),
  human_in_loop: opt(
    fields({
      required: opt(v.boolean()),
      performed: opt(v.boolean()),
      performed_by: opt(text),
      performed_at: opt(text),
      review_mode: opt(text),
      review_outcome: opt(text),
    }),
  ),
})

const regulatoryScaffoldingSchema = fields({
  data_classification: opt(labelLists),
})

const causalGraphSchema = fields({
  /** Runs that have to do with this one, in the caller's own form. */
  parent_run_id: opt(v.unknown()),
  parent_runs: opt(v.unknown()),
  related_runs: opt(v.unknown()),
  effect_log: opt(
    v.array(
      fields({
        effect_kind: opt(text),
        target: opt(text),
        status: opt(text),
        issued_at: opt(text),
        ack_hash: opt(text),
      }),
    ),
  ),
})

/** A declared section: an object that fits the shape, and is sealed as received. */
export const declared = (shape: v.GenericSchema<unknown, unknown>): v.GenericSchema<unknown, JsonObject> =>
  v.pipe(jsonObjectSchema, fitting(shape), v.metadata({ [SHAPE]: shape }))

/** A JSON object of a shape. JavaScript calls a list an object, and so does valibot; JSON does not. */
function objectOf<T>(shape: v.GenericSchema<unknown, unknown>): v.GenericSchema<unknown, T> {
  return v.pipe(v.custom<T>(isJsonObject, "must be an object"), fitting(shape), v.metadata({ [SHAPE]: shape }))
}

/** Checks a value against a shape and leaves the value as it is. */
function fitting<T>(shape: v.GenericSchema<unknown, unknown>): v.RawCheckAction<T> {
  return v.rawCheck<T>(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    const [issue] = v.safeParse(shape, dataset.value, FIRST_ISSUE).issues ?? []
    if (issue === undefined) return
    if (isForeignKey(issue)) return addIssue({ message: foreignField(issue, shape) })
    const [first, ...rest] = issue.path ?? []
    addIssue({ message: issueReason(issue), ...(first === undefined ? {} : { path: [first, ...rest] }) })
  })
}

/** The members of the request body. */
export const EXECUTE_MEMBERS = {
  program_id: sha256Schema,
  route_id: routeIdSchema,
  registry_record_hash: sha256Schema,
  payload: v.exactOptional(text),
  /** Alternative name; used when both are there. */
  payload_text: v.exactOptional(text),
  attested_context: v.exactOptional(attestedContextSchema),
  request_substance: v.exactOptional(declared(fields(REQUEST_SUBSTANCE))),
  authorization_chain: v.exactOptional(declared(authorizationChainSchema)),
  regulatory_scaffolding: v.exactOptional(declared(regulatoryScaffoldingSchema)),
  causal_graph: v.exactOptional(declared(causalGraphSchema)),
  reproducibility_context: v.exactOptional(jsonObjectSchema),
  ai_output_text: v.exactOptional(text),
  /** The run is observed and not enforced, also where the service enforces. */
  enforcement: v.exactOptional(enforcementSchema),
}

/** Whether a request has a payload under one of its names. */
export const hasPayload = ({ payload, payload_text }: { payload?: string; payload_text?: string }): boolean =>
  payload !== undefined || payload_text !== undefined
export const PAYLOAD_REQUIRED = "payload or payload_text is required"
/** The same in JSON Schema. */
export const ONE_PAYLOAD = ["payload", "payload_text"].map(name => ({
  properties: { [name]: { type: "string" as const } },
  required: [name],
}))

/** The request body, without top-level members that are null. Unknown top-level keys are ignored and not sealed. */
export const executeRequestSchema = v.pipe(
  v.object(EXECUTE_MEMBERS),
  v.check(request => hasPayload(request), PAYLOAD_REQUIRED),
  v.metadata({
    anyOf: ONE_PAYLOAD,
    description:
      "Strict JSON of at most 64 levels, 131,072 nodes and 8,192 times, which are texts under names that end in _at. Lengths are counted in UTF-16 units; a member that is null is treated as absent; −0 is read as 0; U+0000 is accepted in payload, payload_text and ai_output_text only.",
  }),
)
export type ExecuteRequest = Shape<typeof executeRequestSchema>
