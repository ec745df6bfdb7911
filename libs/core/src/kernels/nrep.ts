/** NREP, origin: commits to the caller as the server saw it. A supplied actor_signature is kept as declared, not verified. */
import { sha256Hex } from "@runseal/canonical"
import { nrepCaller } from "../formulas/kernels.ts"
import { textMember } from "../vocabulary/json-members.ts"
import type { KernelFunction } from "./kernel.ts"
import { countFindings, shown } from "./kernel.ts"

export const nrep: KernelFunction = sources => {
  const substance = shown(sources.request_substance)
  const context = shown(sources.attested_context)
  if (substance?.origin === undefined || context === undefined) return undefined
  const signature = textMember(context.declared, "actor_signature")
  const signatureHash = signature === undefined ? undefined : sha256Hex(signature)
  return {
    output: {
      caller_commitment: nrepCaller(substance.salt, substance.origin, signatureHash),
      actor_signature: signature === undefined ? "absent" : "declared_not_verified",
    },
    findings: countFindings(signature === undefined ? [] : ["ACTOR_SIGNATURE_NOT_VERIFIED"]),
  }
}
