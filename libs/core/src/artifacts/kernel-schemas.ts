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

const findingsSchema = (kernel: Kernel): v.GenericSchema<unknown, KernelFinding[]> => {
  const known = KERNEL_FINDINGS[kernel]
  // A kernel without findings: JSON Schema has no empty enumeration, and the list below is empty anyway.
  const code = v.picklist(known.length === 0 ? FINDING_CODES : known)
  return v.pipe(v.array(v.strictObject({ code, count: ordinalSchema })), v.maxLength(known.length))
}

/** A kernel's record, with the names of output and findings that this kernel has. */
const kernelRecord = <const Name extends Kernel, const Entries extends v.ObjectEntries>(
  kernel: Name,
  output: Entries,
) =>
  v.strictObject({
    kernel: v.literal(kernel),
    kernel_version: v.literal(KERNEL_VERSION),
    output: v.strictObject(output),
    findings: findingsSchema(kernel),
    execution_id: sha256Schema,
  })

export const kernelRecordSchema: v.GenericSchema<unknown, KernelRecord> = v.variant("kernel", [
  kernelRecord("DSE", { state_commitment: sha256Schema }),
  kernelRecord("TOK", { timestamp_count: countSchema, ordering_hash: sha256Schema }),
  kernelRecord("DSC", { final_state_hash: sha256Schema }),
  kernelRecord("NREP", { caller_commitment: sha256Schema, actor_signature: v.picklist(ACTOR_SIGNATURE_STATES) }),
  kernelRecord("AIVP", { model_commitment: sha256Schema }),
  kernelRecord("DCAE", { closure: sha256Schema }),
])
