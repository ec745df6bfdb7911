/** Model and execution context, and request substance. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { isShown } from "@runseal/core/artifacts/declared-sections"
import type { Block } from "@runseal/pdf/block"
import { declaredIn, declaredOpening, valueTable } from "../declared.ts"
import { countOf, fact, facts, fieldLabel, heading, line, mono, muted, quote, remark, table } from "../spans.ts"
import type { Part } from "../subject.ts"
import { attestedFacts } from "./decision-part.ts"

const MODEL_FIELDS = ["model_provider", "model_name", "model_version", "model_temperature", "prompt_hash"] as const

export const modelAndExecution: Part = ({ bundle }) => [
  heading(2, "Model and Execution Context"),
  heading(3, "Model"),
  ...declaredOpening(bundle, "attested_context"),
  ...facts(attestedFacts(bundle, MODEL_FIELDS)),
  heading(3, "Kernels"),
  ...kernels(bundle),
  heading(3, "Reproducibility context"),
  ...declaredOpening(bundle, "reproducibility_context"),
  ...valueTable("Declared runtime, dependencies, seeds and platform", declaredIn(bundle, "reproducibility_context")),
  heading(3, "System provenance"),
  ...provenance(bundle),
]

function kernels({ sections: { efa } }: Bundle): readonly Block[] {
  if (efa === undefined) return [remark("No kernel ran.")]
  const columns = [
    { title: "Kernel", share: 9 },
    { title: "Findings", share: 34 },
    { title: "ExecutionID", share: 57 },
  ]
  const rows = efa.kernels.map(({ kernel, findings, execution_id }) => [
    line(mono(kernel)),
    findings.length === 0
      ? line(muted("none"))
      : line(mono(findings.map(({ code, count }) => `${code} ×${count}`).join(", "))),
    line(mono(execution_id)),
  ])
  return [
    remark("Computed by the service. A verifier runs the six kernels again on the sealed sections."),
    ...table("The six kernels in their order", columns, rows),
    ...facts([fact("Kernel release", mono([...new Set(efa.kernels.map(record => record.kernel_version))].join(", ")))]),
  ]
}

function provenance({ sections: { system_provenance, hardware_attestation } }: Bundle): readonly Block[] {
  const { kind: _, hash, disclosure, ...fields } = system_provenance
  return [
    remark(disclosure),
    ...facts([
      ...Object.entries(fields)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, value]) => fact(fieldLabel(name), quote(value))),
      fact("Hardware attestation", hardware_attestation?.disclosure ?? muted("not reached: nothing is stated")),
      fact("Section hash", mono(hash)),
    ]),
  ]
}

export const requestSubstance: Part = ({ bundle }) => {
  const { payload, request_substance: substance } = bundle.sections
  const origin = isShown(substance) ? substance.origin : undefined
  return [
    heading(2, "Request Substance"),
    remark("The service keeps hash and length of the payload and of the AI output, and neither text."),
    ...facts([
      fact("Payload SHA-256", mono(payload.payload_hash)),
      fact("Payload length", countOf(payload.payload_bytes, "byte")),
      fact(
        "AI output SHA-256",
        payload.ai_output_hash === undefined ? muted("no AI output was sent") : mono(payload.ai_output_hash),
      ),
      ...(payload.ai_output_bytes === undefined
        ? []
        : [fact("AI output length", countOf(payload.ai_output_bytes, "byte"))]),
    ]),
    heading(3, "Declared substance"),
    ...declaredOpening(bundle, "request_substance"),
    ...valueTable("Declared prompt, output, cost and the rest", declaredIn(bundle, "request_substance")),
    ...(origin === undefined
      ? []
      : [
          heading(3, "Origin"),
          remark(
            "Seen by the service. Address and agent are keyed hashes: only the operator can find out whose they are.",
          ),
          ...facts([
            fact("Authentication", mono(origin.authentication.method)),
            fact("API key ID", String(origin.authentication.api_key_id)),
            ...(origin.authentication.api_key_name === undefined
              ? []
              : [fact("API key name", quote(origin.authentication.api_key_name))]),
            fact("Source IP hash", mono(origin.source_ip_hash)),
            fact("User agent hash", mono(origin.user_agent_hash)),
          ]),
        ]),
  ]
}
