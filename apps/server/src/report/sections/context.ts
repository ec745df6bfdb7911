/** Model and execution context, and what the record holds of the request. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { isShown } from "@runseal/core/artifacts/declared-sections"
import { FINDING_MEANINGS } from "@runseal/core/presentation/finding-meanings"
import { declaredOutputHash } from "@runseal/core/verify/record-facts"
import type { Block, Line } from "@runseal/pdf/block"
import { CALLERS_WORD, withoutContent } from "../declared.ts"
import {
  countOf,
  type Fact,
  fact,
  facts,
  fieldLabel,
  line,
  mono,
  muted,
  onNewLine,
  quote,
  remark,
  subsection,
  table,
} from "../spans.ts"
import type { Part } from "../subject.ts"
import { tenantFacts } from "./budget-part.ts"
import { attestedFacts, declaredBlocks, MODEL_FIELDS } from "./declared-content.ts"

export const modelAndExecution: Part = subject => {
  const { bundle } = subject
  const model = facts(attestedFacts(bundle, MODEL_FIELDS))
  const reproducibility = declaredBlocks(bundle, "reproducibility_context")
  return [
    ...subsection("Model", model.length === 0 ? [] : [CALLERS_WORD, ...model]),
    ...subsection("Kernels", kernels(subject)),
    ...subsection("Reproducibility context", reproducibility.length === 0 ? [] : [CALLERS_WORD, ...reproducibility]),
    ...subsection("System provenance", [provenanceRemark(bundle), ...facts(provenanceFacts(bundle))]),
  ]
}

/** The six kernels and what each found; no block when none ran. */
export const kernels: Part = ({ bundle }) => {
  const { efa } = bundle.sections
  if (efa === undefined) return []
  const columns = [
    { title: "Kernel", share: 9 },
    { title: "Findings, which never stop a run", share: 34 },
    { title: "ExecutionID", share: 57 },
  ]
  const rows = efa.kernels.map(({ kernel, findings, execution_id }) => [
    line(mono(kernel)),
    findings.length === 0
      ? line(muted("none"))
      : findings.flatMap(({ code, count }) => [
          onNewLine(mono(count === 1 ? code : `${code} ×${count}`)),
          onNewLine(muted(FINDING_MEANINGS[code])),
        ]),
    line(mono(execution_id)),
  ])
  const release = [...new Set(efa.kernels.map(record => record.kernel_version))].join(", ")
  return [
    remark(`Computed by the service with ${release}. A verifier runs the six kernels again on the sealed sections.`),
    ...table("The six kernels in their order", columns, rows),
  ]
}

const provenanceRemark = ({ sections }: Bundle): Block => remark(sections.system_provenance.disclosure)

/** @param names of the fields; the run's metadata have the others too */
function provenanceFacts(
  { sections: { system_provenance, hardware_attestation } }: Bundle,
  names?: readonly string[],
): readonly Fact[] {
  const { kind: _, hash, disclosure: __, ...fields } = system_provenance
  return [
    ...Object.entries(fields)
      .filter(([name]) => names?.includes(name) ?? true)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => fact(fieldLabel(name), quote(value))),
    ...(hardware_attestation === undefined ? [] : [fact("Hardware attestation", hardware_attestation.disclosure)]),
    fact("Section hash", mono(hash)),
  ]
}

/** The hash of the output, and whose word it is. */
function outputHash({ sections }: Bundle): Line {
  const { ai_output_hash: output } = sections.payload
  const declared = declaredOutputHash(sections)
  if (output !== undefined) return line(mono(output))
  if (declared === undefined) return line(muted("no AI output was sent"))
  return line(mono(declared), muted(" as the caller declared it; no AI output was sent"))
}

function textFacts(bundle: Bundle): readonly Fact[] {
  const { payload } = bundle.sections
  const { ai_output_bytes: length } = payload
  return [
    fact("Payload SHA-256", mono(payload.payload_hash)),
    fact("Payload length", countOf(payload.payload_bytes, "byte")),
    fact("AI output SHA-256", outputHash(bundle)),
    ...(length === undefined ? [] : [fact("AI output length", countOf(length, "byte"))]),
  ]
}

const HASH_ONLY = remark("The service keeps hash and length of the payload and of the AI output, and neither text.")

/** What the service saw of the caller; none when the section is withheld. */
function originFacts({ sections: { request_substance: substance } }: Bundle): readonly Fact[] {
  const origin = isShown(substance) ? substance.origin : undefined
  if (origin === undefined) return []
  const { method, api_key_id, api_key_name } = origin.authentication
  return [
    fact("Authentication", mono(method)),
    fact("API key ID", String(api_key_id)),
    ...(api_key_name === undefined ? [] : [fact("API key name", quote(api_key_name))]),
    fact("Source IP hash", mono(origin.source_ip_hash)),
    fact("User agent hash", mono(origin.user_agent_hash)),
  ]
}

const KEYED = remark("Address and agent of the caller are keyed hashes: only the operator can find out whose they are.")

export const requestSubstance: Part = ({ bundle }) => {
  const declared = declaredBlocks(bundle, "request_substance")
  const origin = facts(originFacts(bundle))
  return [
    HASH_ONLY,
    ...facts(textFacts(bundle)),
    ...subsection("Declared substance", declared.length === 0 ? [] : [CALLERS_WORD, ...declared]),
    ...subsection("Origin", origin.length === 0 ? [] : [KEYED, ...origin]),
    ...withoutContent(bundle, [
      "attested_context",
      "request_substance",
      "regulatory_scaffolding",
      "reproducibility_context",
    ]),
  ]
}

/** Request, caller, tenant and service of a run that was not completed. */
export const requestAndTenant: Part = ({ bundle }) => [
  HASH_ONLY,
  ...facts(textFacts(bundle)),
  KEYED,
  ...facts([...originFacts(bundle), ...tenantFacts(bundle)]),
  provenanceRemark(bundle),
  ...facts(provenanceFacts(bundle, ["mode", "platform", "runtime", "runtime_version"])),
]
