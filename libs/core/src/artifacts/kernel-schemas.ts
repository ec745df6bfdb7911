/** What a kernel's record can hold: names of outputs and findings are closed, also where a withheld section keeps it from running again. */
import type { JsonObject } from "@runseal/canonical"
import * as v from "valibot"
import {
  ACTOR_SIGNATURE_STATES,
  FINDING_CODES,
  type FindingCode,
  KERNEL_FINDINGS,
} from "../vocabulary/kernel-findings.ts"
import type { Kernel } from "../vocabulary/outcomes.ts"
import { countSchema, ordinalSchema, sha256Schema } from "../vocabulary/scalars.ts"
import { KERNEL_VERSION } from "../vocabulary/versions.ts"

export type KernelFinding = { readonly code: FindingCode; readonly count: number }

/** What a kernel computed, whichever kernel it is. */
export type KernelRecord = {
  readonly kernel: Kernel
  readonly kernel_version: string
  readonly output: JsonObject
  readonly findings: readonly KernelFinding[]
  readonly execution_id: string
}

/** What a kernel computed, where it cannot be computed again. */
export type KernelResult = Pick<KernelRecord, "output" | "findings">

const findingsSchema = (kernel: Kernel): v.GenericSchema<unknown, KernelFinding[]> => {
  const known = KERNEL_FINDINGS[kernel]
  // A kernel without findings: JSON Schema has no empty enumeration, and the list below is empty anyway.
  const code = v.picklist(known.length === 0 ? FINDING_CODES : known)
  return v.pipe(v.array(v.strictObject({ code, count: ordinalSchema })), v.maxLength(known.length))
}

const result = <const Entries extends v.ObjectEntries>(kernel: Kernel, output: Entries) =>
  v.strictObject({ output: v.strictObject(output), findings: findingsSchema(kernel) })

/** What each kernel computes. */
const RESULT_SCHEMAS = {
  DSE: result("DSE", { state_commitment: sha256Schema }),
  TOK: result("TOK", { timestamp_count: countSchema, ordering_hash: sha256Schema }),
  DSC: result("DSC", { final_state_hash: sha256Schema }),
  NREP: result("NREP", { caller_commitment: sha256Schema, actor_signature: v.picklist(ACTOR_SIGNATURE_STATES) }),
  AIVP: result("AIVP", { model_commitment: sha256Schema }),
  DCAE: result("DCAE", { closure: sha256Schema }),
}

/** A kernel's record, with the names of output and findings that this kernel has. */
const record = <const Name extends Kernel>(kernel: Name) =>
  v.strictObject({
    kernel: v.literal(kernel),
    kernel_version: v.literal(KERNEL_VERSION),
    ...RESULT_SCHEMAS[kernel].entries,
    execution_id: sha256Schema,
  })

export const kernelRecordSchema: v.GenericSchema<unknown, KernelRecord> = v.variant("kernel", [
  record("DSE"),
  record("TOK"),
  record("DSC"),
  record("NREP"),
  record("AIVP"),
  record("DCAE"),
])

/** What the kernels computed that read a withheld section. DSE reads none. */
const withheldKernelsShape = v.strictObject({
  TOK: v.exactOptional(RESULT_SCHEMAS.TOK),
  DSC: v.exactOptional(RESULT_SCHEMAS.DSC),
  NREP: v.exactOptional(RESULT_SCHEMAS.NREP),
  AIVP: v.exactOptional(RESULT_SCHEMAS.AIVP),
  DCAE: v.exactOptional(RESULT_SCHEMAS.DCAE),
})
export type WithheldKernels = { readonly [kernel in Kernel]?: KernelResult }
export const withheldKernelsSchema: v.GenericSchema<unknown, WithheldKernels> = withheldKernelsShape
