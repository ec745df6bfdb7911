/** Verifies a receipt as its endpoint serves it. docs/formats.md section 12. */
import type { JsonObject } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import * as v from "valibot"
import type { Anchor, ReceiptLeaf, ServedReceiptAnchor } from "../artifacts/anchor.ts"
import { servedReceiptAnchorSchema } from "../artifacts/anchor.ts"
import { parseExact } from "../artifacts/parse-exact.ts"
import type { Receipt } from "../artifacts/sealed-artifacts.ts"
import { RECEIPT_SCHEMAS, receiptClock } from "../artifacts/sealed-artifacts.ts"
import { receiptLeaf } from "../formulas/leaves.ts"
import { sealHash } from "../formulas/seal.ts"
import type { ReceiptKey } from "../vocabulary/outcomes.ts"
import { OUTCOMES, RECEIPT_KINDS } from "../vocabulary/outcomes.ts"
import { ordinalSchema } from "../vocabulary/scalars.ts"
import { checkAnchor, chooseTrust, FIRST_ANCHOR_IDS } from "./anchor-check.ts"
import { anchorFact } from "./bundle.ts"
import { receiptContradictions } from "./contradictions.ts"
import { withKeyNotes } from "./key-notes.ts"
import type { Check, Limitation, Report, Verdict } from "./report.ts"
import { absent, collectFindings, limitation, VERDICTS } from "./report.ts"

/** The answer of a receipt endpoint. */
type ReceiptDocument = {
  readonly run_id: number
  readonly key: ReceiptKey
  readonly receipt: Receipt
  readonly receipt_anchor?: ServedReceiptAnchor
}

/** What stands in the answer beside the receipt; any other key is refused. */
const answerSchema = v.strictObject({
  ok: v.literal(true),
  run_id: ordinalSchema,
  receipt_anchor: v.exactOptional(servedReceiptAnchorSchema),
})

/** Reads the answer of a receipt endpoint; a sentence says what is wrong with it. */
export function parseReceiptDocument(value: JsonObject, key: ReceiptKey): ReceiptDocument | string {
  const { [key]: artifact, ...rest } = { ...value }
  const receipt = parseExact<Receipt>(RECEIPT_SCHEMAS[key], artifact)
  if (!receipt.ok) return `${key}.${receipt.problem}`
  const answer = parseExact(answerSchema, rest)
  if (!answer.ok) return answer.problem
  const { run_id, receipt_anchor } = answer.value
  return { run_id, key, receipt: receipt.value, ...(receipt_anchor === undefined ? {} : { receipt_anchor }) }
}

/** Verifies a receipt document against keys from outside it. Never throws. */
export function verifyReceipt(document: ReceiptDocument, trusts: readonly TrustedKeys[]): Report {
  const findings = collectFindings()
  const { receipt, receipt_anchor: anchor, run_id } = document
  findings.require("decision", sealHash(receipt) === receipt.hash, "the receipt does not match its hash")
  for (const problem of receiptContradictions(receipt)) findings.fail("decision", problem)
  const trust = anchor === undefined ? undefined : chooseTrust(anchor.entry, trusts)
  if (anchor !== undefined) {
    findings.require("shape", anchor.version === anchor.leaf.leaf_version, "receipt_anchor.version is not its leaf's")
    const leaf = receiptLeaf(anchor.leaf.leaf_version, receipt, run_id)
    checkAnchor(anchor, { leaf, clock: receiptClock(receipt), ids: FIRST_ANCHOR_IDS }, trust, findings)
  } else if (receipt.anchor_required === true)
    findings.fail("entry", "the receipt requires a log entry and has none; the refusal itself stands")
  const none = (id: Check["id"]): Check => absent(id, "the receipt carries no log entry")
  const checks = findings.checks({
    shape: "the receipt has the fields of its version",
    decision: "the receipt matches its hash and does not contradict itself",
    leaf: anchor ? `${anchor.leaf.leaf_version} rebuilt from the receipt is the anchored leaf` : none("leaf"),
    entry: anchor ? `log entry ${anchor.entry.logIndex} holds the leaf, signed by the service` : none("entry"),
    inclusion: anchor ? "inclusion proof, checkpoint and timestamp are the log's" : none("inclusion"),
    log_time: anchor ? "logged within 600 s of the receipt's clock" : none("log_time"),
  })
  const failed = checks.find(check => check.result === "fail")
  const good: Verdict = anchor === undefined ? VERDICTS.receipt_unanchored : VERDICTS.receipt
  const outcome = RECEIPT_KINDS[document.key]
  const report: Report = {
    document: "receipt",
    verdict: failed === undefined ? good : VERDICTS.failed,
    ...(failed === undefined ? {} : { first_failure: failed.id }),
    checks,
    statement: OUTCOMES[outcome].sentence,
    ...(trust === undefined ? {} : { service: trust.service }),
    clock: receiptClock(receipt),
    run_id,
    outcome_kind: outcome,
    withheld: [],
    limitations: limitationsOf(anchor),
    anchors: anchor === undefined ? [] : [anchorFact("receipt", anchor)],
  }
  return withKeyNotes(report, anchor === undefined ? [] : [anchor], trust)
}

const limitationsOf = (anchor: Anchor<ReceiptLeaf> | undefined): readonly Limitation[] => [
  ...(anchor === undefined ? [] : [limitation("operator_log")]),
  limitation("declared_content"),
  ...(anchor?.leaf.leaf_version === "vfa.receipt_anchor.v1" ? [limitation("run_number_not_bound")] : []),
]
