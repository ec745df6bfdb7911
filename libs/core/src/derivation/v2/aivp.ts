/** AIVP, output: commits to model identity, prompt and AI output, and compares the hashes that were declared. */
import { shown } from "../../artifacts/declared-sections.ts"
import { member, textMember } from "../../vocabulary/json-members.ts"
import type { FindingCode } from "../../vocabulary/kernel-findings.ts"
import { type DeclaredView, declaredView } from "./declared-view.ts"
import type { KernelFunction } from "./kernel.ts"
import { countFindings, pick } from "./kernel.ts"
import { aivpModel } from "./kernel-commitments.ts"

type Shown = DeclaredView

const MODEL_KEYS = ["model_provider", "model_name", "model_version", "model_temperature", "prompt_hash"]

/** What AIVP says of the shown attested context and the output: it needs no other section. */
export const modelCommitment = ({ salt, declared }: Shown, outputHash: string | undefined): string =>
  aivpModel(salt, pick(declared, MODEL_KEYS), outputHash)

/** What the shown request substance says of the output. */
export function outputFindings({ declared }: Shown, outputHash: string | undefined): readonly FindingCode[] {
  const declaredHash = textMember(member(declared, "output"), "hash")
  if (declaredHash === undefined || declaredHash === outputHash) return []
  return [outputHash === undefined ? "AI_OUTPUT_HASH_UNCHECKED" : "AI_OUTPUT_HASH_MISMATCH"]
}

/** The hash of the prompt that each of the two sections declares. */
export const attestedPrompt = ({ declared }: Shown): string | undefined => textMember(declared, "prompt_hash")
export const requestedPrompt = ({ declared }: Shown): string | undefined =>
  textMember(member(declared, "prompt"), "hash")

export const aivp: KernelFunction = sources => {
  const context = shown(sources.attested_context)
  const substance = declaredView(sources, "request_substance")
  if (context === undefined || substance === undefined) return undefined
  const outputHash = sources.payload.ai_output_hash
  const [one, other] = [requestedPrompt(substance), attestedPrompt(context)]
  const differ = one !== undefined && other !== undefined && one !== other
  return {
    output: { model_commitment: modelCommitment(context, outputHash) },
    findings: countFindings([
      ...(differ ? (["PROMPT_HASH_MISMATCH"] as const) : []),
      ...outputFindings(substance, outputHash),
    ]),
  }
}
