/** The run that closes a permit: its opening as it was sealed, and what the close adds. */
import { type JsonObject, writtenTexts } from "@runseal/canonical"
import { DECLARED_NAMES, type DeclaredName, type ShownDeclared, shown } from "../../artifacts/declared-sections.ts"
import type { TransportSection } from "../../artifacts/derived-sections.ts"
import type { Opening } from "../../artifacts/opening.ts"
import {
  type ActFailureCode,
  type ActOutcome,
  CLOSING_PARTS,
  type ClosingDeclared,
  type PermitUseSection,
  type Redemption,
} from "../../artifacts/permit-sections.ts"
import type { EnvelopeSection } from "../../artifacts/sealed-sections.ts"
import { type DeclaredSources, declaredView } from "../../derivation/v2/declared-view.ts"
import { transportSection } from "../../derivation/v2/execution-sections.ts"
import { closingSection, permitUseSection } from "../../formulas/permit.ts"
import { closedPayloadSection } from "../../formulas/pre-execution.ts"
import { declaredTokens } from "../../vocabulary/declared-tokens.ts"
import type { Tenant } from "../../wire/submission.ts"
import type { PepgPass } from "../gates/pepg.ts"
import type { ReceivedRun } from "../received-run.ts"
import type { Watch } from "../stage-failure.ts"

/** What the caller says of an act. */
export type ReportedAct = {
  readonly outcome: ActOutcome
  /** Present exactly when it failed. */
  readonly code?: ActFailureCode
  readonly ai_output_text?: string
  readonly declared: ClosingDeclared
}

/** A close, and the permit that it closes. */
export type Closing = {
  readonly tenant: Tenant
  readonly act: ReportedAct
  readonly opening: Opening
  /** Disclosure seed of the opening. */
  readonly seed: string
  /** RFC 3339: the admission of the close, never before that of its opening. */
  readonly closed_clock: string
  /** Absent while the permit is not redeemed. */
  readonly redemption?: Redemption
}

/** A close before its first gate. Stages DOG and DTL are those of its opening. */
export type ClosingRun = ReceivedRun & {
  readonly opened: Opening
  readonly envelope: EnvelopeSection
  readonly transport: TransportSection
  readonly closing: ShownDeclared
  /** How the act ended. */
  readonly act: Pick<ReportedAct, "outcome" | "code">
}

export function closingRun(
  { tenant, act, opening, seed, closed_clock }: Closing,
  { monotonicMs }: Pick<Watch, "monotonicMs">,
): ClosingRun {
  const texts = writtenTexts()
  const {
    envelope,
    act: _act,
    approvals: _approvals,
    policy_evaluation: _evaluation,
    mcd_finding: _finding,
    ...received
  } = opening.sections
  const { declared: added, ai_output_text, ...ended } = act
  const { program_id, route_id, registry_record_hash, execution_region, run_nonce: nonce } = envelope
  const closing = texts.seal(closingSection({ seed }, isEmpty(added) ? undefined : added))
  const declared = declaredContent({ ...received, closing })
  const moment = { at: closed_clock, nonce, seed }
  const output = ai_output_text === undefined ? {} : { ai_output_text }
  const tokens = declaredTokens(added.request_substance)
  return {
    facts: { moment, tenant, program_id, route_id, execution_region, started_ms: monotonicMs(), texts },
    decided: { program_id, route_id, registry_record_hash, declared, declared_tokens: tokens, ...output },
    spending: { tokens, run_limit: opening.run_limit },
    base: { ...received, payload: texts.seal(closedPayloadSection(received.payload, ai_output_text)) },
    opened: opening,
    envelope,
    transport: texts.seal(transportSection(envelope)),
    closing,
    act: ended,
  }
}

/** The section that names the permit, with what is known of its redemption. */
export const permitUse = (
  { opened, act, facts: { moment, texts } }: ClosingRun,
  redemption: Redemption | undefined,
): PermitUseSection =>
  texts.seal(
    permitUseSection(opened, { ...act, closed_clock: moment.at, ...(redemption === undefined ? {} : { redemption }) }),
  )

/** What the kernels of a close read, once its policy admits it. */
export const closedInputs = (
  { base, envelope, transport, closing }: ClosingRun,
  permit: PermitUseSection,
  { sections, allow_token }: PepgPass,
) => ({
  base,
  envelope,
  transport,
  closing,
  permit,
  policy_evaluation: sections.policy_evaluation,
  allow_token,
  ...(sections.act && { act: sections.act }),
})

const isEmpty = (value: object): boolean => Object.keys(value).length === 0

/** What the opening declared, with what the close adds to it. */
export function declaredContent(sources: DeclaredSources): Partial<Record<DeclaredName, JsonObject>> {
  const content: Partial<Record<DeclaredName, JsonObject>> = {}
  for (const name of DECLARED_NAMES) {
    const declared = declaredView(sources, name)?.declared
    if (declared !== undefined) content[name] = declared
  }
  return content
}

/** The first member of a close that its opening has declared already, as `section.member`. */
export function declaredTwice({ sections }: Pick<Opening, "sections">, closing: ClosingDeclared): string | undefined {
  for (const part of CLOSING_PARTS) {
    const declared = shown(sections[part])?.declared ?? {}
    const twice = Object.keys(closing[part] ?? {}).find(name => Object.hasOwn(declared, name))
    if (twice !== undefined) return `${part}.${twice}`
  }
  return undefined
}
