/** What a report is about, and what every part of it is given. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { Explanation } from "@runseal/core/artifacts/explanation"
import type { Report as Verification } from "@runseal/core/verify/report"
import { VERDICTS } from "@runseal/core/verify/report"
import type { OutcomeWords } from "@runseal/core/vocabulary/outcome-words"
import { OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import type { ReportFormat } from "@runseal/core/wire/run-summaries"
import type { Block, Tone } from "@runseal/pdf/block"
import type { SignatureName } from "../policy/signature-name.ts"

/** Facts of a run when its report is made, which are not in its bundle. */
export type ReportContext = {
  /** Address of the service as its operator gave it, without a final slash; without it the report names no address. */
  readonly base_url?: string
  /** Path of the public bundle at the service; only when the run is published. */
  readonly public_path?: string
  /** Unix seconds from which the service key counts that signs the report. */
  readonly key_valid_from: number
  /** Why a gate refused the run, as far as who asks for the report may see that; absent: what the bundle alone says. */
  readonly explanation?: Explanation
  /** The text of the rule that refused it, as far as they may see that. */
  readonly rule?: string
  /** Release of the verification engine that made `verification`. */
  readonly engine_version: string
  /** Name and source of the signature that matched, from the library that the service ships; absent for another library. */
  readonly signature?: SignatureName
  /** The service's own verification of this bundle, under its own trust. It is no third-party evidence. */
  readonly verification: Verification
}

/** A bundle with its context, in a format. */
export type Subject = {
  readonly bundle: Bundle
  readonly context: ReportContext
  readonly format: ReportFormat
}

/** A part of a report; it gives no block when it has nothing to say. */
export type Part = (subject: Subject) => readonly Block[]

/** The outcome's row of words. */
export const wordsOf = ({ bundle }: Pick<Subject, "bundle">): OutcomeWords => OUTCOMES[bundle.run.outcome_kind].words

/** Whether the service's own verification failed: then nothing in the report may be relied on. */
export const isBroken = ({ context }: Subject): boolean => context.verification.verdict === VERDICTS.failed

/** Whether what was decided was only observed: it stopped nothing. */
export const isObserved = ({ bundle }: Pick<Subject, "bundle">): boolean =>
  bundle.sections.envelope?.enforcement !== undefined

const TONES = { attestation: "good", refusal: "warn", diagnosis: "bad" } as const

/** Green for a completed run, amber for a refusal, for an act that failed and for what was only observed, red for what is no evidence. */
export function toneOf(subject: Subject): Tone {
  const tone = isBroken(subject) ? "bad" : TONES[wordsOf(subject).standing]
  const isWeak = isObserved(subject) || subject.bundle.sections.permit?.outcome === "failed"
  return tone === "good" && isWeak ? "warn" : tone
}

/** File name of a report (docs/api.md, "GET /runs/{id}/report.pdf"). */
export const reportFileName = (runId: number, format: ReportFormat): string =>
  `runseal-audit-run-${runId}-${format}.pdf`

/** File name of the attached bundle. */
export const bundleFileName = (runId: number): string => `runseal-run-${runId}-bundle.json`
