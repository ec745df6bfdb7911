/** Notes on keys that signed a record's entries and are no longer in force. They fail nothing: the keys were valid then. */
import { decodeBase64, encodeHex, equalBytes } from "@runseal/canonical"
import { parseEntryBody, type TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { formatUtcSeconds, isValidAt } from "@runseal/log/keys/validity"
import type { LogKey, ServiceKey, TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type KeyNote, limitation, type Report, VERDICTS } from "./report.ts"

/**
 * The report with a note for each key of its log entries that has an end in the trust document. A key that was revoked later is a
 * limitation too: its thief can sign leaves, and only the log's time shows that he did not date them back.
 * @param entries those of the document itself, then those of the redemptions in it
 * @param trust the trust document that the entries were verified with
 */
export function withKeyNotes(
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
