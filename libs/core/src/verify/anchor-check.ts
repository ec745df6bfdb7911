/**
 * Checks one anchor against the leaf that the record gives, and against the keys that the verifier trusts. These come from outside the
 * document. docs/formats.md section 16, checks 7–10.
 */
import { decodeBase64, encodeHex } from "@runseal/canonical"
import type { EntryCheckId } from "@runseal/log/entries/check-entry"
import { checkEntry } from "@runseal/log/entries/check-entry"
import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { parseEntryBody } from "@runseal/log/entries/log-entry"
import { keyIdOfSpki } from "@runseal/log/keys/spki"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Anchor, Leaf, ReceiptLeaf } from "../artifacts/anchor.ts"
import type { Receipt } from "../artifacts/sealed-artifacts.ts"
import { leafBytes, receiptLeaf } from "../formulas/leaves.ts"
import { isSameJson, textMember } from "../vocabulary/json-members.ts"
import { clockSeconds, LOG_TIME_TOLERANCE_SECONDS } from "../vocabulary/scalars.ts"
import { collectFindings, type Examination, type PassedChecks } from "./examination.ts"
import { absent, type CheckId } from "./report.ts"

/** A trust document without keys: every key check fails against it. */
const NO_TRUST: TrustedKeys = {
  service: "",
  origin: "",
  serviceKeys: [],
  logKeys: [],
  checkpointKeys: [],
  rekor: false,
}

/** The trust document that has the entry's log key, and among several the one that has its service key too. */
export function chooseTrust(entry: TransparencyLogEntry, candidates: readonly TrustedKeys[]): TrustedKeys | undefined {
  const ofLog = candidates.filter(trust => trust.logKeys.some(key => key.logId === entry.logId.keyId))
  if (ofLog.length <= 1) return ofLog[0]
  const body = decodeBase64(entry.canonicalizedBody)
  const spki = body === undefined ? undefined : parseEntryBody(body)?.spkiDer
  const keyId = spki === undefined ? undefined : encodeHex(keyIdOfSpki(spki))
  return ofLog.find(trust => trust.serviceKeys.some(key => key.keyId === keyId)) ?? ofLog[0]
}

/** The entry checks on the entry's own content; the others are on its place in the log. */
const CONTENT_CHECKS: ReadonlySet<EntryCheckId> = new Set<EntryCheckId>([
  "entry.kind",
  "entry.body_canonical",
  "entry.body_key",
  "entry.body_signature",
])

/** The entry checks that no entry of an unknown log or service can pass; all others hold whatever keys the reader trusts. */
const KEY_CHECKS: ReadonlySet<EntryCheckId> = new Set<EntryCheckId>([
  "entry.body_key",
  "entry.checkpoint_signature",
  "entry.set",
])

/** Whether a failed entry check shows only that the reader trusts no key. The public Rekor log is known and is no service. */
const lacksKey = (id: EntryCheckId, trust: TrustedKeys | undefined): boolean =>
  trust === undefined ? KEY_CHECKS.has(id) : id === "entry.body_key" && trust.serviceKeys.length === 0

/** An entry whose body names another digest is of another leaf than the record gives. */
const checkIdOf = (id: EntryCheckId): CheckId => {
  if (id === "entry.body_digest") return "leaf"
  return CONTENT_CHECKS.has(id) ? "entry" : "inclusion"
}

type ExpectedAnchor = {
  /** The leaf as rebuilt from the record; undefined where the record cannot give it, and the anchor's own leaf is taken. */
  readonly leaf: Leaf | undefined
  /** The record's own clock; undefined where it has none. */
  readonly clock: string | undefined
  /** The one check that every failure is reported under; absent: each under its own. */
  readonly reportedAs?: CheckId
}

export const UNTRUSTED_ADVICE =
  "the log or service key is not one you trust: pin the service's trust document, obtained from the service itself, with --trust FILE or `verifier trust add`"

/** Runs every check on an anchor. */
export function checkAnchor(
  anchor: Anchor,
  { leaf, clock, reportedAs }: ExpectedAnchor,
  { trust, known, findings }: Examination,
): void {
  const idOf = (own: CheckId): CheckId => reportedAs ?? own
  if (leaf !== undefined)
    findings.require(idOf("leaf"), isSameJson(leaf, anchor.leaf), "the leaf is not the one this record gives")
  if (trust === undefined) findings.lack(idOf("entry"), UNTRUSTED_ADVICE)
  const report = checkEntry(anchor.entry, { preimage: leafBytes(anchor.leaf, known), trust: trust ?? NO_TRUST })
  for (const { id, ok, message } of report.checks) {
    if (ok) continue
    const add = lacksKey(id, trust) ? findings.lack : findings.fail
    add(idOf(checkIdOf(id)), message)
  }
  const isBirth = report.logIndex === 0 && trust?.rekor === false
  findings.require(idOf("inclusion"), !isBirth, "entry 0 of a log is its birth, and holds no record")
  const { leaf_version: version } = anchor.leaf
  const isOld = version === "vfa.leaf.v5" || version === "vfa.leaf.v6"
  const isPast = isOld && report.integratedTime >= (trust?.leafV7From ?? Number.POSITIVE_INFINITY)
  findings.require(idOf("leaf"), !isPast, `the service writes only leaf v7 since then, this is ${version}`)
  findings.fail(idOf("log_time"), ...logTimeProblems(anchor.leaf, report.integratedTime, clock))
}

/** The first fault of an anchor whose leaf is known to be right; undefined when it verifies. @param clock RFC 3339: that of what it anchors */
export function anchorProblem(anchor: Anchor, clock: string, trust: TrustedKeys): string | undefined {
  const findings = collectFindings()
  checkAnchor(anchor, { leaf: undefined, clock, reportedAs: "entry" }, { trust, findings })
  return findings.checks({})[0]?.message
}

/** Checks the anchor of a receipt, or that the receipt requires none. */
export function checkReceiptAnchor(
  anchor: Anchor<ReceiptLeaf> | undefined,
  receipt: Receipt,
  { run_id, clock }: { readonly run_id: number; readonly clock: string },
  examination: Examination,
): void {
  if (anchor !== undefined)
    checkAnchor(anchor, { leaf: receiptLeaf(anchor.leaf.leaf_version, receipt, run_id), clock }, examination)
  else if (receipt.anchor_required === true)
    examination.findings.fail("entry", "the receipt requires a log entry and has none; the refusal itself is valid")
}

/** What a report says of a good log entry. */
export const passedEntry = ({ logIndex }: TransparencyLogEntry): PassedChecks => ({
  entry: `log entry ${logIndex} holds the leaf, signed by the service`,
  inclusion: "inclusion proof, checkpoint and timestamp are the log's",
})

/**
 * What a report says of the first anchor of a run when it is good, or not there.
 * @param source what the leaf was rebuilt from
 * @param owner of the clock that the log's time is held to
 */
export function passedFirstAnchor(
  anchor: Anchor | undefined,
  { source, owner, none }: { readonly source: string; readonly owner: string; readonly none: string },
): PassedChecks {
  if (anchor === undefined)
    return Object.fromEntries((["leaf", "entry", "inclusion", "log_time"] as const).map(id => [id, absent(id, none)]))
  return {
    leaf: `${anchor.leaf.leaf_version} rebuilt from ${source} is the anchored leaf`,
    ...passedEntry(anchor.entry),
    log_time: `logged within 600 s of ${owner}'s clock`,
  }
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
  const window = leaf.leaf_version === "vfa.leaf.v7" ? textMember(leaf, "anchoring_window") : undefined
  if (window !== undefined) {
    const [start, end] = window.split("/").map(text => clockSeconds(text.replace(/Z$/, ".000Z")))
    const inside = start !== undefined && end !== undefined && logTime >= start && logTime <= end
    if (!inside) problems.push("the entry was logged outside the sealed anchoring window")
  }
  return problems
}
