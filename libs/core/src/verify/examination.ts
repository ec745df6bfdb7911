/**
 * One verification of one document: what its checks share, what they found, and the report at its end. Every check runs; none is
 * skipped after a failure.
 */
import { decodeBase64, encodeHex, equalBytes, type JsonObject, type KnownTexts } from "@runseal/canonical"
import { parseEntryBody, type TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { formatUtcSeconds, isValidAt } from "@runseal/log/keys/validity"
import type { LogKey, ServiceKey, TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Bundle, SealedBundle } from "../artifacts/bundle-schema.ts"
import { anchorFact, type SlottedAnchor } from "./anchor-slots.ts"
import {
  type AnchorFacts,
  type Check,
  type CheckId,
  FINDING_IDS,
  type KeyNote,
  limitation,
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

// Notes on keys that signed a record's entries and are no longer in force. They fail nothing: the keys were valid then.

/**
 * The report with a note for each key of its log entries that has an end in the trust document. A key that was revoked later is a
 * limitation too: its thief can sign leaves, and only the log's time shows that he did not date them back.
 * @param entries those of the document itself, then those of the redemptions in it
 * @param trust the trust document that the entries were verified with
 */
function withKeyNotes(
  report: Report,
  entries: readonly TransparencyLogEntry[],
  trust: TrustedKeys | undefined,
): Report {
  if (trust === undefined || report.verdict === VERDICTS.failed || !hasEnds(trust)) return report
  const notes = entries.flatMap(entry => notesOn(entry, trust))
  const key_notes = notes.filter(({ key_id }, at) => notes.findIndex(note => note.key_id === key_id) === at)
  if (key_notes.length === 0) return report
  const revoked = key_notes.some(({ code }) => code === "key_revoked_later")
  const limitations = revoked ? [...report.limitations, limitation("key_revoked_later")] : report.limitations
  return { ...report, limitations, key_notes }
}

/** Most trust documents have no such key, and then no entry is parsed a second time. */
const hasEnds = ({ serviceKeys, logKeys }: TrustedKeys): boolean => [...serviceKeys, ...logKeys].some(hasEnd)

const hasEnd = (key: ServiceKey | LogKey): boolean =>
  key.validTo !== undefined || ("revokedFrom" in key && key.revokedFrom !== undefined)

function notesOn({ canonicalizedBody, logId, integratedTime }: TransparencyLogEntry, trust: TrustedKeys): KeyNote[] {
  const time = Number(integratedTime)
  const spki = parseEntryBody(decodeBase64(canonicalizedBody) ?? Uint8Array.of())?.spkiDer
  const service = spki && trust.serviceKeys.find(key => equalBytes(key.spki, spki))
  const log = trust.logKeys.find(key => key.logId === logId.keyId && isValidAt(key, time))
  return [
    ...(service !== undefined && hasEnd(service) ? [noteOnService(service, time)] : []),
    ...(log !== undefined && hasEnd(log) ? [noteOnLog(log, time)] : []),
  ]
}

function noteOnService({ keyId, validTo, revokedFrom }: ServiceKey, time: number): KeyNote {
  const logged = `this was logged ${text(time)}`
  if (revokedFrom === undefined) {
    const sentence = `Service key ${keyId}: key retired, valid then (it signed until ${text(validTo)}, ${logged}).`
    return { role: "service", key_id: keyId, code: "key_retired", sentence }
  }
  const sentence = `Service key ${keyId}: key revoked from ${text(revokedFrom)}, valid then (${logged}).`
  return { role: "service", key_id: keyId, code: "key_revoked_later", sentence }
}

function noteOnLog({ logId, validTo }: LogKey, time: number): KeyNote {
  const key_id = encodeHex(decodeBase64(logId) ?? Uint8Array.of())
  const sentence = `Log key ${key_id}: key retired, valid then (it signed until ${text(validTo)}, this was logged ${text(time)}).`
  return { role: "log", key_id, code: "key_retired", sentence }
}

/** RFC 3339 of a time between two times of a trust document. */
const text = (seconds: number | undefined): string => (seconds === undefined ? "now" : formatUtcSeconds(seconds))
