/**
 * Fills the examples of docs/formats.md from a demo's evidence folder: `node tools/src/docs/renew-examples.ts FOLDER`.
 * The preimages are written down here a second time, from the page and not from the formulas; the page's test compares.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type JsonObject, type JsonValue, parseStrictJson } from "@runseal/canonical"
import { DECLARED_NAMES } from "@runseal/core/artifacts/declared-sections"
import { runStatement } from "@runseal/core/formulas/run-statement"
import { readBundle } from "@runseal/core/verify/document"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { at, FORMATS, type MarkedExample, replaceExamples } from "./marked-examples.ts"

/** Members of an object by name, and under other names. */
function taken(
  value: JsonValue | undefined,
  names: readonly string[],
  renamed: Record<string, string> = {},
): JsonObject {
  const pairs = [...names.map(name => [name, name] as const), ...Object.entries(renamed)]
  const found = pairs.map(([to, from]) => [to, at(value, from)] as const).filter(([, item]) => item !== undefined)
  return Object.fromEntries(found.map(([to, item]) => [to, item ?? null]))
}

const hashesOf = (bundle: JsonValue, names: readonly string[]): JsonObject =>
  taken(bundle, [], Object.fromEntries(names.map(name => [name, `sections.${name}.hash`])))

const sectionHashes = (bundle: JsonValue): JsonObject => {
  const sections = at(bundle, "sections")
  return hashesOf(bundle, isObject(sections) ? Object.keys(sections) : [])
}

const RUN_INPUTS = ["program_id", "route_id", "registry_record_hash", "payload_hash"]
const MODEL = ["model_provider", "model_name", "model_version", "model_temperature", "prompt_hash"]
const LINEAGE = ["parent_run_id", "parent_runs", "related_runs"]
/** What DOG makes. */
const DOG = ["payload", ...DECLARED_NAMES, "system_provenance", "envelope"]

/** The only declared time of the first run, as TOK orders it. */
const firstRunTimes = (bundle: JsonValue): JsonValue => {
  const pointer = "/authorization_chain/approvers/0/approved_at"
  const found = at(bundle, "sections.authorization_chain.declared.approvers.0.approved_at")
  return [{ at: found ?? null, pointer }]
}

const PREIMAGES: Readonly<Record<string, (bundle: JsonValue) => JsonObject>> = {
  "sections.envelope.declared_sections_hash": bundle => ({
    kind: "vfa.declared_sections.v1",
    ...hashesOf(bundle, DECLARED_NAMES),
  }),
  "sections.envelope.envelope_id": bundle => ({
    kind: "vfa.envelope_id.v1",
    ...taken(at(bundle, "sections.envelope"), [...RUN_INPUTS, "admission_clock", "run_nonce"]),
  }),
  "sections.transport.sequence_id": bundle => ({
    kind: "vfa.sequence_id.v1",
    ...taken(bundle, [], { envelope_hash: "sections.envelope.hash" }),
  }),
  "sections.budget_snapshot.window.charge_id": bundle => ({
    kind: "vfa.charge_id.v1",
    ...taken(bundle, [], { envelope_hash: "sections.envelope.hash" }),
  }),
  "sections.efa.kernels.0.input_hash": bundle => ({
    kind: "vfa.kernel_input.v1",
    kernel: "DSE",
    inputs: hashesOf(bundle, ["envelope", "payload"]),
  }),
  "sections.efa.kernels.0.output_hash": bundle => ({
    kind: "vfa.kernel_output.v1",
    ...taken(at(bundle, "sections.efa.kernels.0"), ["kernel", "output", "findings"]),
  }),
  "sections.efa.kernels.0.execution_id": bundle => ({
    kind: "vfa.kernel.v1",
    ...taken(at(bundle, "sections.efa.kernels.0"), ["kernel", "kernel_version", "input_hash", "output_hash"]),
  }),
  "sections.efa.kernels.0.output.state_commitment": bundle => ({
    kind: "vfa.dse_state.v1",
    ...taken(at(bundle, "sections.envelope"), ["program_id", "registry_record_hash"], { envelope_hash: "hash" }),
    ...taken(at(bundle, "sections.payload"), ["payload_hash", "payload_bytes"]),
  }),
  "sections.efa.kernels.1.output.ordering_hash": bundle => ({
    kind: "vfa.tok_ordering.v1",
    salts: DECLARED_NAMES.map(name => at(bundle, `sections.${name}.salt`) ?? null),
    events: firstRunTimes(bundle),
  }),
  "sections.efa.kernels.2.output.final_state_hash": bundle => ({
    kind: "vfa.dsc_state.v1",
    ...taken(at(bundle, "sections.causal_graph"), ["salt"]),
    ...taken(at(bundle, "sections.envelope"), ["declared_sections_hash"]),
    lineage: taken(at(bundle, "sections.causal_graph.declared"), LINEAGE),
  }),
  "sections.efa.kernels.3.output.caller_commitment": bundle => ({
    kind: "vfa.nrep_caller.v1",
    ...taken(at(bundle, "sections.request_substance"), ["salt", "origin"]),
  }),
  "sections.efa.kernels.4.output.model_commitment": bundle => ({
    kind: "vfa.aivp_model.v1",
    ...taken(at(bundle, "sections.attested_context"), ["salt"]),
    model: taken(at(bundle, "sections.attested_context.declared"), MODEL),
  }),
  "sections.efa.kernels.5.output.closure": bundle => ({
    kind: "vfa.dcae_closure.v1",
    outputs: [0, 1, 2, 3, 4].map(i => at(bundle, `sections.efa.kernels.${i}.output_hash`) ?? null),
  }),
  "sections.replay_fingerprint.input_fingerprint": bundle => ({
    kind: "vfa.input_fingerprint.v1",
    ...taken(at(bundle, "sections.envelope"), RUN_INPUTS),
    ...taken(bundle, [], { policy_hash: "sections.policy_evaluation.policy_hash" }),
    ...taken(at(bundle, "sections.efa.kernels.0"), ["kernel_version"]),
  }),
  "sections.transcript.events.0.output_hash": bundle => ({
    kind: "vfa.step_output.v1",
    ...taken(at(bundle, "sections.transcript.events.0"), ["step", "result"]),
    products: hashesOf(bundle, DOG),
  }),
  "sections.transcript.events.1.input_hash": bundle => ({
    kind: "vfa.transcript_event.v1",
    ...taken(at(bundle, "sections.transcript.events.0"), ["step", "result", "input_hash", "output_hash"]),
  }),
  "anchors.complete_record.leaf.tenant_commitment": bundle => ({
    kind: "vfa.tenant_commitment.v1",
    ...taken(at(bundle, "run"), ["tenant_id", "tenant_salt"]),
  }),
  "anchors.complete_record.leaf.run_record_hash": bundle => ({
    kind: "vfa.run_record.v1",
    ...taken(bundle, ["run"]),
    section_hashes: sectionHashes(bundle),
  }),
}

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error("say where the demo's evidence is")
const files = readdirSync(folder)
const read = (name: string): JsonValue => parseStrictJson(readFileSync(join(folder, name)))

function bundleOf(example: string): JsonValue {
  const file = files.findLast(name => name.endsWith(`-${example}.bundle.json`))
  if (file === undefined) throw new Error(`the folder has no bundle of ${example}`)
  return read(file)
}

function statementOf(bundle: JsonValue): JsonValue {
  const record = isObject(bundle) ? readBundle(bundle) : undefined
  const statement = record === undefined || "unreadable" in record ? undefined : runStatement(record)
  if (statement === undefined) throw new Error("the example has no run statement")
  return statement
}

function exampleValue({ kind, example, path }: MarkedExample): JsonValue {
  if (kind === "trust") return read("trust.json")
  const bundle = bundleOf(example)
  if (kind === "statement") return statementOf(bundle)
  const value = kind === "part" ? at(bundle, path) : PREIMAGES[path]?.(bundle)
  if (value === undefined) throw new Error(`there is no ${kind} ${path} of ${example}`)
  return value
}

/** Columns of the page. */
const PAGE_WIDTH = 120

/** Indented JSON in which an object or array stands on one line where it fits. */
function printed(value: JsonValue, indent = "", before = 0): string {
  const line = JSON.stringify(value, undefined, 1).replace(/\n\s*/g, " ")
  if (typeof value !== "object" || value === null || indent.length + before + line.length <= PAGE_WIDTH) return line
  const deeper = `${indent}  `
  const items = Array.isArray(value)
    ? value.map((item: JsonValue) => `${deeper}${printed(item, deeper)}`)
    : Object.entries(value).map(([key, item]) => `${deeper}"${key}": ${printed(item, deeper, key.length + 4)}`)
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"]
  return [open, items.join(",\n"), `${indent}${close}`].join("\n")
}

const page = readFileSync(FORMATS, "utf8")
writeFileSync(
  FORMATS,
  replaceExamples(page, marked => printed(exampleValue(marked))),
)
