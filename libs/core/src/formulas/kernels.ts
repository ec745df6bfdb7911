/** Preimages of the six kernels: what goes in, what comes out, and each kernel's commitment. docs/formats.md section 4.3. */
import type { JsonObject } from "@runseal/canonical"
import { digest } from "@runseal/canonical"
import type { DeclaredSections, Origin } from "../artifacts/declared-sections.ts"
import type { KernelFinding, KernelRecord } from "../artifacts/kernel-schemas.ts"
import type { EnvelopeSection, PayloadSection } from "../artifacts/sections.ts"
import type { Kernel } from "../vocabulary/outcomes.ts"
import { KERNEL_VERSION } from "../vocabulary/versions.ts"

export type KernelSources = DeclaredSections & {
  readonly envelope: EnvelopeSection
  readonly payload: PayloadSection
}

/** What each kernel read, named by hash; DCAE reads the five outputs before it. */
const INPUTS: Readonly<Record<Kernel, (sources: KernelSources, outputs: readonly string[]) => JsonObject>> = {
  DSE: s => ({ envelope: s.envelope.hash, payload: s.payload.hash }),
  TOK: s => ({ envelope: s.envelope.hash, declared_sections: s.envelope.declared_sections_hash }),
  DSC: s => ({ declared_sections: s.envelope.declared_sections_hash, causal_graph: s.causal_graph.hash }),
  NREP: s => ({ request_substance: s.request_substance.hash, attested_context: s.attested_context.hash }),
  AIVP: s => ({
    payload: s.payload.hash,
    attested_context: s.attested_context.hash,
    request_substance: s.request_substance.hash,
  }),
  DCAE: (s, outputs) => ({ request_substance: s.request_substance.hash, outputs }),
}

export const kernelInputHash = (kernel: Kernel, sources: KernelSources, outputs: readonly string[]): string =>
  digest({ kind: "vfa.kernel_input.v1", kernel, inputs: INPUTS[kernel](sources, outputs) })

const kernelOutputHash = (kernel: Kernel, output: JsonObject, findings: readonly KernelFinding[]): string =>
  digest({ kind: "vfa.kernel_output.v1", kernel, output, findings })

/** ExecutionID of a kernel run. */
export const executionId = (kernel: Kernel, version: string, inputHash: string, outputHash: string): string =>
  digest({ kind: "vfa.kernel.v1", kernel, kernel_version: version, input_hash: inputHash, output_hash: outputHash })

/** One kernel's sealed record. */
export function kernelRecord(
  kernel: Kernel,
  inputHash: string,
  output: JsonObject,
  findings: readonly KernelFinding[],
): KernelRecord {
  const outputHash = kernelOutputHash(kernel, output, findings)
  return {
    kernel,
    kernel_version: KERNEL_VERSION,
    input_hash: inputHash,
    output,
    findings,
    output_hash: outputHash,
    execution_id: executionId(kernel, KERNEL_VERSION, inputHash, outputHash),
  }
}

/** DSE: the state that was admitted. */
export const dseCommitment = (envelope: EnvelopeSection, payload: PayloadSection): string =>
  digest({
    kind: "vfa.dse_state.v1",
    envelope_hash: envelope.hash,
    program_id: envelope.program_id,
    registry_record_hash: envelope.registry_record_hash,
    payload_hash: payload.payload_hash,
    payload_bytes: payload.payload_bytes,
  })

export type OrderedTimestamp = { readonly at: string; readonly pointer: string }

/** TOK: every declared timestamp in order. The salts keep a withheld section's times from being guessed. */
export const tokOrdering = (salts: readonly string[], events: readonly OrderedTimestamp[]): string =>
  digest({ kind: "vfa.tok_ordering.v1", salts, events })

/** DSC: the declared state and the runs it says it continues. */
export const dscFinalState = (salt: string, declaredSectionsHash: string, lineage: JsonObject): string =>
  digest({ kind: "vfa.dsc_state.v1", salt, declared_sections_hash: declaredSectionsHash, lineage })

/** NREP: the caller as the server saw it, with the digest of a signature nobody verified. */
export const nrepCaller = (salt: string, origin: Origin, actorSignatureHash: string | undefined): string =>
  digest({
    kind: "vfa.nrep_caller.v1",
    salt,
    origin,
    ...(actorSignatureHash === undefined ? {} : { actor_signature_hash: actorSignatureHash }),
  })

/** AIVP: the declared model and prompt and the AI output that was received. */
export const aivpModel = (salt: string, model: JsonObject, aiOutputHash: string | undefined): string =>
  digest({
    kind: "vfa.aivp_model.v1",
    salt,
    model,
    ...(aiOutputHash === undefined ? {} : { ai_output_hash: aiOutputHash }),
  })

/** DCAE: closes over the five outputs before it. */
export const dcaeClosure = (outputs: readonly string[]): string => digest({ kind: "vfa.dcae_closure.v1", outputs })
