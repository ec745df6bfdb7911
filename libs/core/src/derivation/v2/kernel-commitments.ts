/** Preimages of the six kernels: what goes in, what comes out, and each kernel's commitment. docs/formats.md section 5. */
import type { JsonObject } from "@runseal/canonical"
import { digest } from "@runseal/canonical"
import type { Origin } from "../../artifacts/declared-sections.ts"
import type { KernelFinding, KernelRecord } from "../../artifacts/kernel-schemas.ts"
import type { PermitUseSection } from "../../artifacts/permit-sections.ts"
import type { EnvelopeSection, PayloadSection } from "../../artifacts/sealed-sections.ts"
import type { Kernel } from "../../vocabulary/outcomes.ts"
import { KERNEL_VERSION } from "../../vocabulary/versions.ts"
import type { DeclaredSources } from "./declared-view.ts"

export type KernelSources = DeclaredSources & {
  readonly envelope: EnvelopeSection
  readonly payload: PayloadSection
  readonly permit?: PermitUseSection
}

/** What each kernel read, named by hash. The output of DCAE names the five executions before it. */
const INPUTS: Readonly<Record<Kernel, (sources: KernelSources) => JsonObject>> = {
  DSE: s => ({ envelope: s.envelope.hash, payload: s.payload.hash }),
  TOK: s => ({ envelope: s.envelope.hash, declared_sections: s.envelope.declared_sections_hash }),
  DSC: s => ({ declared_sections: s.envelope.declared_sections_hash, causal_graph: s.causal_graph.hash }),
  NREP: s => ({ request_substance: s.request_substance.hash, attested_context: s.attested_context.hash }),
  AIVP: s => ({
    payload: s.payload.hash,
    attested_context: s.attested_context.hash,
    request_substance: s.request_substance.hash,
  }),
  DCAE: s => ({ request_substance: s.request_substance.hash }),
}

/** At a close every kernel names its two sections. */
const closeInputs = ({ permit, closing }: KernelSources): JsonObject => ({
  ...(permit === undefined ? {} : { permit: permit.hash }),
  ...(closing === undefined ? {} : { closing: closing.hash }),
})

/** One kernel's record. Its ExecutionID is the digest of the record without it and of what the kernel read. */
export function kernelRecord(
  kernel: Kernel,
  sources: KernelSources,
  output: JsonObject,
  findings: readonly KernelFinding[],
): KernelRecord {
  const record = { kernel, kernel_version: KERNEL_VERSION, output, findings }
  const inputs = { ...INPUTS[kernel](sources), ...closeInputs(sources) }
  return {
    ...record,
    execution_id: digest({ kind: "vfa.kernel.v2", ...record, inputs }),
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

/** The salts of what DSC reads; that of the closing is there exactly at a close, which may say what the run continues. */
export type LineageSalts = { readonly salt: string; readonly closing_salt?: string }

/** DSC: the declared state and the runs it says it continues. */
export const dscFinalState = (salts: LineageSalts, declaredSectionsHash: string, lineage: JsonObject): string =>
  digest({ kind: "vfa.dsc_state.v1", ...salts, declared_sections_hash: declaredSectionsHash, lineage })

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

/** DCAE: closes over the five executions before it. */
export const dcaeClosure = (executionIds: readonly string[]): string =>
  digest({ kind: "vfa.dcae_closure.v2", execution_ids: executionIds })
