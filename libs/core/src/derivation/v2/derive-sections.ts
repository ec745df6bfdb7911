/**
 * Builds the derived sections of a run, each from the sections that its record holds and from those built before it. docs/formats.md
 * section 9.
 */
import type { JsonObject } from "@runseal/canonical"
import type { Anchor, PreAnchorLeaf } from "../../artifacts/anchor.ts"
import { receiptOf, type SealedBundle } from "../../artifacts/bundle-schema.ts"
import { DERIVED_NAMES, type DerivedName } from "../../artifacts/derived-sections.ts"
import type { Sections } from "../../artifacts/sections.ts"
import { allowToken } from "../../formulas/decision.ts"
import { seal, type Unsealed } from "../../formulas/seal.ts"
import {
  aerSection,
  efaSection,
  epaSection,
  hardwareAttestationSection,
  leakageBundleSection,
  migrationTokenSection,
  replayFingerprintSection,
  transportSection,
  zkspBindingSection,
} from "./execution-sections.ts"
import { declaredValueCounts } from "./kernel.ts"
import { finalVfaSection, poteProofSection, registrySection } from "./log-sections.ts"
import { runKernels } from "./run-kernels.ts"
import { buildTranscript } from "./transcript.ts"

/** The derived sections that a record has: a manifest names all of them, and a record without one lists its own. */
export const derivedNames = ({
  manifest,
  derived = {},
}: Pick<SealedBundle, "manifest" | "derived">): readonly DerivedName[] =>
  manifest === undefined ? DERIVED_NAMES.filter(name => derived[name] !== undefined) : DERIVED_NAMES

/** Builds and seals a section of that name if the record has it and `body` has everything that it follows from. */
type Make = <Body extends JsonObject>(
  name: DerivedName,
  body: () => Body | undefined,
) => (Body & { readonly hash: string }) | undefined

function makeFor(record: SealedBundle): Make {
  const names = new Set(derivedNames(record))
  return (name, body) => {
    const made = names.has(name) ? body() : undefined
    return made && seal(made)
  }
}

/** Stages 2 to 6. A section is absent where one that it follows from is. */
export function sectionsBeforeLog(record: SealedBundle): Sections {
  const { sections: held, withheld_results: withheld } = record
  const { payload, envelope, policy_evaluation: evaluation, budget_snapshot, governance_review } = held
  // The token under which the kernels ran. A stage_error carries none, and its policy evaluation gives it.
  const token = record.allow_token ?? (evaluation && seal(allowToken(evaluation)))
  const make = makeFor(record)
  const transport = make("transport", () => envelope && transportSection(envelope))
  const epa = make(
    "epa",
    () => envelope && transport && evaluation && token && epaSection(envelope, transport, evaluation, token),
  )
  const leakage_bundle = make(
    "leakage_bundle",
    () =>
      envelope &&
      leakageBundleSection(envelope, payload, declaredValueCounts(held, withheld?.declared_values), held.act),
  )
  const efa = make("efa", () => {
    const kernels = envelope && runKernels({ ...held, envelope }, withheld?.kernels)
    return envelope && epa && leakage_bundle && kernels && efaSection(envelope, epa, leakage_bundle, kernels)
  })
  const aer = make("aer", () => {
    if (!(envelope && transport && epa && efa && leakage_bundle)) return undefined
    if (!(budget_snapshot && governance_review && token)) return undefined
    const executed = { envelope, transport, epa, efa, leakage_bundle }
    return aerSection({ ...executed, allow_token: token, budget_snapshot, governance_review })
  })
  const hardware_attestation = make("hardware_attestation", () => envelope && hardwareAttestationSection(envelope))
  const zksp_binding = make(
    "zksp_binding",
    () => aer && hardware_attestation && zkspBindingSection(aer, payload, hardware_attestation),
  )
  const migration_token = make(
    "migration_token",
    () => envelope && aer && zksp_binding && migrationTokenSection(envelope, aer, zksp_binding),
  )
  const replay_fingerprint = make(
    "replay_fingerprint",
    () =>
      envelope &&
      evaluation &&
      aer &&
      replayFingerprintSection(envelope, payload, evaluation.policy_hash, aer, held.closing),
  )
  const made = {
    ...held,
    ...(transport && { transport }),
    ...(epa && { epa }),
    ...(leakage_bundle && { leakage_bundle }),
    ...(efa && { efa }),
    ...(aer && { aer }),
    ...(hardware_attestation && { hardware_attestation }),
    ...(zksp_binding && { zksp_binding }),
    ...(migration_token && { migration_token }),
    ...(replay_fingerprint && { replay_fingerprint }),
  }
  const transcript = make("transcript", () => transcriptOf(record, made))
  return { ...made, ...(transcript && { transcript }) }
}

const transcriptOf = (
  record: SealedBundle,
  sections: Sections,
): Unsealed<NonNullable<Sections["transcript"]>> | undefined => {
  const { outcome_kind: outcome } = record.run
  return outcome === "stage_error" ? undefined : buildTranscript(outcome, { ...record, sections }, receiptOf(record))
}

/** Stages 7 to 9 of a completed run: what its entry in the log adds to the sections before it. */
export function sectionsAfterLog(record: SealedBundle, before: Sections, anchor: Anchor<PreAnchorLeaf>): Sections {
  const { envelope } = before
  const { allow_token: token } = record
  const make = makeFor(record)
  const pote_proof = make("pote_proof", () => poteProofSection(anchor))
  const logged = { ...before, ...(pote_proof && { pote_proof }) }
  const registry = make("registry", () => envelope && token && registrySection(envelope, logged, token))
  const final_vfa = make("final_vfa", () => envelope && registry && finalVfaSection(envelope, registry))
  return { ...logged, ...(registry && { registry }), ...(final_vfa && { final_vfa }) }
}
