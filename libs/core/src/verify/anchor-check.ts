/**
 * Holds one anchor against what the record says its leaf must be, and against the keys the verifier trusts.
 * docs/formats.md section 16, checks 7–10. Trusted is only what came from outside the document.
 */
import { decodeBase64, encodeHex, type KnownTexts } from "@runseal/canonical"
import type { EntryCheckId } from "@runseal/log/entries/check-entry"
import { checkEntry } from "@runseal/log/entries/check-entry"
import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { parseEntryBody } from "@runseal/log/entries/log-entry"
import { keyIdOfSpki } from "@runseal/log/keys/spki"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Anchor, Leaf } from "../artifacts/anchor.ts"
import { leafBytes } from "../formulas/leaves.ts"
import { isSameJson } from "../vocabulary/json-members.ts"
import { clockSeconds, LOG_TIME_TOLERANCE_SECONDS } from "../vocabulary/scalars.ts"
import type { CheckId, Findings } from "./report.ts"

/** Trust that vouches for nobody: every key check fails against it. */
const NO_TRUST: TrustedKeys = {
  service: "",
  origin: "",
  serviceKeys: [],
  logKeys: [],
  checkpointKeys: [],
  rekor: false,
}

/** The trust document whose log and service key made the entry; all anchors of a record are held to one. */
export function chooseTrust(entry: TransparencyLogEntry, candidates: readonly TrustedKeys[]): TrustedKeys | undefined {
  const ofLog = candidates.filter(trust => trust.logKeys.some(key => key.logId === entry.logId.keyId))
  // Only between several does the service key decide.
  if (ofLog.length <= 1) return ofLog[0]
  const body = decodeBase64(entry.canonicalizedBody)
  const spki = body === undefined ? undefined : parseEntryBody(body)?.spkiDer
  const keyId = spki === undefined ? undefined : encodeHex(keyIdOfSpki(spki))
  return ofLog.find(trust => trust.serviceKeys.some(key => key.keyId === keyId)) ?? ofLog[0]
}

/** Under which checks an anchor's failures are reported. */
type AnchorCheckIds = Readonly<Record<"leaf" | "entry" | "inclusion" | "log_time", CheckId>>
export const FIRST_ANCHOR_IDS: AnchorCheckIds = {
  leaf: "leaf",
  entry: "entry",
  inclusion: "inclusion",
  log_time: "log_time",
}
export const COMPLETE_RECORD_IDS: AnchorCheckIds = {
  leaf: "complete_record",
  entry: "complete_record",
  inclusion: "complete_record",
  log_time: "complete_record",
}

/** Which entry checks speak of the entry's own content; the others speak of its place in the log. */
const CONTENT_CHECKS: ReadonlySet<EntryCheckId> = new Set<EntryCheckId>([
  "entry.kind",
  "entry.body_canonical",
  "entry.body_digest",
  "entry.body_key",
  "entry.body_signature",
])

type ExpectedAnchor = {
  /** The leaf as rebuilt from the record; undefined where the record cannot say (its own leaf is taken then). */
  readonly leaf: Leaf | undefined
  /** The record's own clock; undefined where it has none. */
  readonly clock: string | undefined
  readonly ids: AnchorCheckIds
}

export const UNTRUSTED_ADVICE =
  "the log or service key is not one you trust: pin the service's trust document, obtained from the service itself, with --trust FILE or `verifier trust add`"

/** Runs every check on an anchor and notes what fails. @param known texts of the document that holds it */
export function checkAnchor(
  anchor: Anchor,
  expected: ExpectedAnchor,
  trust: TrustedKeys | undefined,
  findings: Findings,
  known?: KnownTexts,
): void {
  const { ids } = expected
  if (expected.leaf !== undefined)
    findings.require(ids.leaf, isSameJson(expected.leaf, anchor.leaf), "the leaf is not the one this record gives")
  findings.require(ids.entry, trust !== undefined, UNTRUSTED_ADVICE)
  const report = checkEntry(anchor.entry, { preimage: leafBytes(anchor.leaf, known), trust: trust ?? NO_TRUST })
  for (const check of report.checks) {
    const id = CONTENT_CHECKS.has(check.id) ? ids.entry : ids.inclusion
    findings.require(id, check.ok, check.message)
  }
  const isBirth = report.logIndex === 0 && trust?.rekor === false
  findings.require(ids.inclusion, !isBirth, "entry 0 of a log is its birth, and holds no record")
  checkLeafAge(anchor.leaf, report.integratedTime, trust, ids.leaf, findings)
  checkLogTime(anchor.leaf, report.integratedTime, expected, findings)
}

function checkLeafAge(
  leaf: Leaf,
  logTime: number,
  trust: TrustedKeys | undefined,
  id: CheckId,
  findings: Findings,
): void {
  const old = leaf.leaf_version === "vfa.leaf.v5" || leaf.leaf_version === "vfa.leaf.v6"
  if (old && trust?.leafV7From !== undefined)
    findings.require(
      id,
      logTime < trust.leafV7From,
      `the service writes only leaf v7 since then, this is ${leaf.leaf_version}`,
    )
}

function checkLogTime(leaf: Leaf, logTime: number, expected: ExpectedAnchor, findings: Findings): void {
  for (const problem of logTimeProblems(leaf, logTime, expected.clock)) findings.fail(expected.ids.log_time, problem)
}

/**
 * Why a log time is not the record's.
 * @param logTime Unix seconds
 * @param clock the record's own; undefined where it has none
 */
export function logTimeProblems(leaf: Leaf, logTime: number, clock: string | undefined): readonly string[] {
  const problems: string[] = []
  const seconds = clock === undefined ? undefined : clockSeconds(clock)
  const apart = seconds === undefined ? 0 : Math.abs(logTime - seconds)
  if (apart > LOG_TIME_TOLERANCE_SECONDS)
    problems.push(
      `the entry was logged ${apart} s from the record's clock; ${LOG_TIME_TOLERANCE_SECONDS} s are allowed`,
    )
  if (leaf.leaf_version === "vfa.leaf.v7") {
    const [start, end] = leaf.anchoring_window.split("/").map(text => clockSeconds(text.replace(/Z$/, ".000Z")))
    const inside = start !== undefined && end !== undefined && logTime >= start && logTime <= end
    if (!inside) problems.push("the entry was logged outside the sealed anchoring window")
  }
  return problems
}
