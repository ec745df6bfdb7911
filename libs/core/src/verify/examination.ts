/**
 * One verification of one document: what its checks share, what they found, and the report at its end. Every check runs; none is
 * skipped after a failure.
 */
import type { JsonObject, KnownTexts } from "@runseal/canonical"
import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Bundle, SealedBundle } from "../artifacts/bundle-schema.ts"
import { anchorFact, type SlottedAnchor } from "./anchor-slots.ts"
import { withKeyNotes } from "./key-notes.ts"
import {
  type AnchorFacts,
  type Check,
  type CheckId,
  FINDING_IDS,
  type Report,
  VERDICTS,
  type Verdict,
} from "./report.ts"

export type Examination = {
  /** The one trust document that every anchor is held to; undefined when none has the log's key. */
  readonly trust: TrustedKeys | undefined
  /** Texts of the document's parts, as they were read, which are then not written again to be hashed. */
  readonly known?: KnownTexts | undefined
  readonly findings: Findings
}

export type ExaminedBundle = Examination & {
  /** The record as it is sealed. */
  readonly sealed: SealedBundle
  /** Its full form, which this verifier derived. */
  readonly bundle: Bundle
  /** The full form as the document states it, where it is one. */
  readonly view?: Bundle | undefined
  /** The sealed sections whose own hash is right: what follows from them is then compared and not hashed again. */
  readonly intact: ReadonlySet<JsonObject>
}

/** The failures of checks. */
export type Findings = {
  /** Adds failures of a check; none is fine. */
  readonly fail: (id: CheckId, ...messages: readonly string[]) => void
  /** Adds a failure unless the condition holds. */
  readonly require: (id: CheckId, holds: boolean, message: string) => void
  /** Adds a failure for want of a trusted key: it shows nothing against the document. */
  readonly lack: (id: CheckId, message: string) => void
  /** The checks that failed for want of a trusted key and for nothing else. */
  readonly lacking: () => readonly CheckId[]
  /** Results in the order of the report: each check that failed, and each that `passed` names, with its message or its own result. */
  readonly checks: (passed: PassedChecks) => readonly Check[]
}

/** The checks that apply to a document, and what the report says of each when nothing is wrong. */
export type PassedChecks = Readonly<Partial<Record<CheckId, Check | string>>>

/** A new collector. */
export function collectFindings(): Findings {
  const failures = new Map<CheckId, string[]>()
  const lacks = new Map<CheckId, string[]>()
  const fail = (id: CheckId, ...messages: readonly string[]): void => {
    if (messages.length > 0) failures.set(id, [...(failures.get(id) ?? []), ...messages])
  }
  return {
    fail,
    require: (id, holds, message) => {
      if (!holds) fail(id, message)
    },
    lack: (id, message) => void lacks.set(id, [...(lacks.get(id) ?? []), message]),
    lacking: () => [...lacks.keys()].filter(id => !failures.has(id)),
    checks: passed =>
      FINDING_IDS.flatMap(id => {
        const [first, ...rest] = [...(failures.get(id) ?? []), ...(lacks.get(id) ?? [])]
        if (first !== undefined) {
          const message = rest.length === 0 ? first : `${first} (and ${rest.length} more)`
          return [{ id, result: "fail" as const, message }]
        }
        const found = passed[id]
        if (found === undefined) return []
        return [typeof found === "string" ? { id, result: "pass" as const, message: found } : found]
      }),
  }
}

/** What a kind of document adds to its report. */
type Conclusion = Omit<
  Report,
  "verdict" | "first_failure" | "checks" | "unvouched" | "statement" | "service" | "anchors" | "key_notes"
> & {
  readonly statement?: string | undefined
  /** The verdict when no check failed. */
  readonly good: Verdict
  readonly passed: PassedChecks
  /** In the service's own log. */
  readonly anchors: readonly SlottedAnchor[]
  /** Log entries of the redemptions in it. */
  readonly redemptions?: readonly TransparencyLogEntry[]
  readonly outside?: readonly AnchorFacts[]
}

/** The report of a document whose checks all ran. */
export function conclude(
  { trust, findings }: Pick<Examination, "trust" | "findings">,
  { document, good, passed, anchors, redemptions = [], outside = [], statement, ...facts }: Conclusion,
): Report {
  const checks = findings.checks(passed)
  const failed = checks.find(check => check.result === "fail")
  const unvouched = findings.lacking()
  const report: Report = {
    document,
    verdict: failed === undefined ? good : VERDICTS.failed,
    ...(failed === undefined ? {} : { first_failure: failed.id }),
    checks,
    ...(unvouched.length === 0 ? {} : { unvouched }),
    ...(statement === undefined ? {} : { statement }),
    ...(trust === undefined ? {} : { service: trust.service }),
    ...facts,
    anchors: [...anchors.map(anchorFact), ...outside],
  }
  return withKeyNotes(report, [...anchors.map(({ anchor }) => anchor.entry), ...redemptions], trust)
}
