/** AIVP, output: commits to model identity, prompt and AI output, and compares the hashes that were declared. */
import { aivpModel } from "../formulas/kernels.ts"
import { member, textMember } from "../vocabulary/json-members.ts"
import type { FindingCode } from "../vocabulary/kernel-findings.ts"
import type { KernelFunction } from "./kernel.ts"
import { countFindings, pick, shown } from "./kernel.ts"

const MODEL_KEYS = ["model_provider", "model_name", "model_version", "model_temperature", "prompt_hash"]

export const aivp: KernelFunction = sources => {
  const context = shown(sources.attested_context)
  const substance = shown(sources.request_substance)
  if (context === undefined || substance === undefined) return undefined
  const outputHash = sources.payload.ai_output_hash
  const declaredOutput = textMember(member(substance.declared, "output"), "hash")
  const declaredPrompt = textMember(member(substance.declared, "prompt"), "hash")
  const attestedPrompt = textMember(context.declared, "prompt_hash")
  const codes: FindingCode[] = []
  if (declaredPrompt !== undefined && attestedPrompt !== undefined && declaredPrompt !== attestedPrompt)
    codes.push("PROMPT_HASH_MISMATCH")
  if (declaredOutput !== undefined && outputHash === undefined) codes.push("AI_OUTPUT_HASH_UNCHECKED")
  if (declaredOutput !== undefined && outputHash !== undefined && declaredOutput !== outputHash)
    codes.push("AI_OUTPUT_HASH_MISMATCH")
  const model = pick(context.declared, MODEL_KEYS)
  return {
    output: { model_commitment: aivpModel(context.salt, model, outputHash) },
    findings: countFindings(codes),
  }
}
