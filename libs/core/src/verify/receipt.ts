/** Verifies a receipt as its endpoint serves it. docs/formats.md section 12. */
import type { JsonObject } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import * as v from "valibot"
import type { Anchor, ReceiptLeaf, ServedReceiptAnchor } from "../artifacts/anchor.ts"
import { servedReceiptAnchorSchema } from "../artifacts/anchor.ts"
import { explainReceipt } from "../artifacts/explanation.ts"
import { type Parsed, parseExact } from "../artifacts/parse-exact.ts"
import type { Receipt } from "../artifacts/sealed-artifacts.ts"
import { RECEIPT_SCHEMAS, receiptClock } from "../artifacts/sealed-artifacts.ts"
import { sealHash } from "../formulas/seal.ts"
import type { ReceiptKey } from "../vocabulary/outcomes.ts"
import { OUTCOMES, RECEIPT_KEYS, RECEIPT_KINDS } from "../vocabulary/outcomes.ts"
import { ordinalSchema } from "../vocabulary/scalars.ts"
import { checkReceiptAnchor, chooseTrust, passedFirstAnchor } from "./anchor-check.ts"
import type { SlottedAnchor } from "./anchor-slots.ts"
import { receiptContradictions } from "./contradictions.ts"
import { collectFindings, conclude } from "./examination.ts"
import { kindOf } from "./kind.ts"
import { type Unreadable, unreadable } from "./parsed-text.ts"
import { receiptFacts } from "./record-facts.ts"
import { type Limitation, limitation, type Report, VERDICTS } from "./report.ts"

export const RECEIPT = /* @__PURE__ */ kindOf<ReceiptDocument>({
  document: "receipt",
  title: "Receipt",
  genuine: "The receipt is genuine.",
  verdict: "receipt",
  recognizes: value => keyOf(value) !== undefined,
  parse: parseReceiptDocument,
  verify: verifyReceipt,
  anchors: anchorsOf,
})

const keyOf = (value: JsonObject): ReceiptKey | undefined => RECEIPT_KEYS.find(name => Object.hasOwn(value, name))

function anchorsOf({ receipt_anchor: anchor }: ReceiptDocument): readonly SlottedAnchor[] {
  return anchor === undefined ? [] : [{ slot: "receipt", anchor }]
}

/** The answer of a receipt endpoint. */
type ReceiptDocument = {
  readonly run_id: number
  readonly key: ReceiptKey
  readonly receipt: Receipt
  readonly receipt_anchor?: ServedReceiptAnchor
}

/** The members of the answer beside the receipt; any other is refused. */
const answerSchema = v.strictObject({
  ok: v.literal(true),
  run_id: ordinalSchema,
  receipt_anchor: v.exactOptional(servedReceiptAnchorSchema),
})

/** Reads the answer of a receipt endpoint. */
function parseReceiptDocument(value: JsonObject): Parsed<ReceiptDocument> | Unreadable {
  const key = keyOf(value)
  if (key === undefined) return unreadable("it holds no receipt")
  const { [key]: artifact, ...rest } = { ...value }
  const receipt = parseExact<Receipt>(RECEIPT_SCHEMAS[key], artifact)
  if (!receipt.ok) return { ok: false, problem: `${key}.${receipt.problem}` }
  const answer = parseExact(answerSchema, rest)
  if (!answer.ok) return answer
  const { run_id, receipt_anchor } = answer.value
  const anchor = receipt_anchor === undefined ? {} : { receipt_anchor }
  return { ok: true, value: { run_id, key, receipt: receipt.value, ...anchor } }
}

const NO_ENTRY = "the receipt carries no log entry"

/** Verifies a receipt document against keys from outside it. Never throws. */
function verifyReceipt(document: ReceiptDocument, trusts: readonly TrustedKeys[]): Report {
  const { key, receipt, receipt_anchor: anchor, run_id } = document
  const outcome = RECEIPT_KINDS[key]
  const clock = receiptClock(receipt)
  const findings = collectFindings()
  const examination = { trust: anchor && chooseTrust(anchor.entry, trusts), findings }
  findings.require("decision", sealHash(receipt) === receipt.hash, "the receipt does not match its hash")
  findings.fail("decision", ...receiptContradictions(receipt))
  if (anchor !== undefined)
    findings.require("shape", anchor.version === anchor.leaf.leaf_version, "receipt_anchor.version is not its leaf's")
  checkReceiptAnchor(anchor, receipt, { run_id, clock }, examination)
  return conclude(examination, {
    document: "receipt",
    good: anchor === undefined ? VERDICTS.receipt_unanchored : VERDICTS.receipt,
    passed: {
      shape: "the receipt has the fields of its version",
      decision: "the receipt matches its hash and does not contradict itself",
      ...passedFirstAnchor(anchor, { source: "the receipt", owner: "the receipt", none: NO_ENTRY }),
    },
    statement: OUTCOMES[outcome].sentence,
    clock,
    run_id,
    outcome_kind: outcome,
    facts: receiptFacts(receipt),
    explanation: explainReceipt(receipt),
    withheld: [],
    limitations: limitationsOf(anchor),
    anchors: anchorsOf(document),
  })
}

const limitationsOf = (anchor: Anchor<ReceiptLeaf> | undefined): readonly Limitation[] => [
  ...(anchor === undefined ? [] : [limitation("operator_log")]),
  limitation("declared_content"),
  ...(anchor?.leaf.leaf_version === "vfa.receipt_anchor.v1" ? [limitation("run_number_not_bound")] : []),
]
