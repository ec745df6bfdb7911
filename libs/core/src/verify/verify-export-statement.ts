/** Verifies the statement at the head of an export, without the records. docs/formats.md section 7.7. */
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { countsOf, sumOf } from "../artifacts/anchor.ts"
import {
  chainPiece,
  type ExportedWindow,
  type ExportStatement,
  exportStatementSchema,
} from "../artifacts/export-statement.ts"
import { parseExact } from "../artifacts/parse-exact.ts"
import { windowsHash } from "../formulas/permit.ts"
import { DEPLOYMENT_TENANT, ZERO_HASH } from "../vocabulary/scalars.ts"
import { EXPORT_KIND } from "../vocabulary/versions.ts"
import { checkAnchor, chooseTrust, passedEntry } from "./anchor-check.ts"
import type { SlottedAnchor } from "./anchor-slots.ts"
import { isBudgetWindow } from "./budgets.ts"
import { brokenRules, type Rule } from "./contradictions.ts"
import { collectFindings, conclude } from "./examination.ts"
import { kindOf } from "./kind.ts"
import { tenantRule } from "./record-places.ts"
import { limitation, type Report, VERDICTS } from "./report.ts"

export const EXPORT_STATEMENT = /* @__PURE__ */ kindOf<ExportStatement>({
  document: "export_statement",
  title: "Export statement",
  genuine: "The export statement is genuine.",
  verdict: "export_statement",
  recognizes: ({ kind }) => kind === EXPORT_KIND,
  parse: value => parseExact(exportStatementSchema, value),
  verify: verifyExportStatement,
  anchors: anchorsOf,
  named: statement => ({ statement }),
})

function anchorsOf({ leaf, entry }: ExportStatement): readonly SlottedAnchor[] {
  return [{ slot: "export_statement", anchor: { leaf, entry } }]
}

function verifyExportStatement(statement: ExportStatement, trusts: readonly TrustedKeys[]): Report {
  const { windows, leaf, entry } = statement
  const findings = collectFindings()
  const examination = { trust: chooseTrust(entry, trusts), findings }
  findings.fail("shape", ...contradictions(statement))
  findings.require("leaf", ...tenantRule(statement, leaf))
  const isListed = windowsHash(windows) === leaf.windows_hash
  findings.require("leaf", isListed, "the list of budget windows is not that of the leaf")
  checkAnchor({ leaf, entry }, { leaf, clock: leaf.export_clock }, examination)
  return conclude(examination, {
    document: "export_statement",
    good: VERDICTS.export_statement,
    passed: {
      shape: "the statement does not contradict itself",
      leaf: "tenant and salt open the anchored leaf's commitment, and the list of budget windows is the one it names",
      ...passedEntry(entry),
      log_time: "logged within 600 s of the statement's clock",
    },
    clock: leaf.export_clock,
    withheld: [],
    limitations: [limitation("operator_log"), limitation("statement_alone"), limitation("second_chain")],
    anchors: anchorsOf(statement),
  })
}

/** What cannot be true of any chain, whatever records it holds. */
function contradictions({ tenant_id, windows, leaf, entry }: ExportStatement): readonly string[] {
  const { head_ordinal, head, from, to, open_permits, events = 0 } = leaf
  const counted = sumOf(countsOf(leaf))
  const everything = from === undefined && to === undefined
  const ofChain: readonly Rule[] = [
    [(head_ordinal === 0) === (head === ZERO_HASH), "a chain has an end exactly when it has documents"],
    [from === undefined || to === undefined || from <= to, "the time asked for ends before it begins"],
    [
      Number(entry.logIndex) > head_ordinal,
      `before log entry ${entry.logIndex} there is no room for ${head_ordinal} documents`,
    ],
    [
      tenant_id === DEPLOYMENT_TENANT ? counted === events : events === 0,
      "the chain of the deployment has admin events only, and no other chain has any",
    ],
    [open_permits <= head_ordinal, "more permits are open than the chain has documents"],
    [windows.every(isBudgetWindow), "a listed window is no budget window"],
    [
      windows.every((window, i) => isBehind(window, windows[i - 1])),
      "the budget windows are out of order, or one is there twice",
    ],
  ]
  const piece = chainPiece(leaf)
  if (piece === undefined) {
    const { first_ordinal, last_ordinal, previous_record, last_record } = leaf
    const facts = [first_ordinal, last_ordinal, previous_record, last_record]
    return brokenRules([
      ...ofChain,
      [
        facts.every(fact => fact === undefined),
        "of first and last ordinal, predecessor and last document some are there and some are not",
      ],
      [!everything || head_ordinal === 0, "everything was asked for and no document is in it"],
      [counted === 0, "documents are counted, and none is in the piece"],
    ])
  }
  const { first_ordinal: first, last_ordinal: last, previous_record, last_record } = piece
  return brokenRules([
    ...ofChain,
    [first <= last && last <= head_ordinal, "first, last and end of the chain are not in this order"],
    [(first === 1) === (previous_record === ZERO_HASH), "the first of a chain, and no other, has no predecessor"],
    [(last === head_ordinal) === (last_record === head), "the last document is the end of the chain, or it is not"],
    [
      ![last_record, head].includes(previous_record),
      "the document before the piece is given as one of it, or as the end",
    ],
    [last_record !== ZERO_HASH, "the last document has no digest"],
    [counted === last - first + 1, `documents ${first} to ${last} are not the ${counted} that are counted`],
    [!everything || (first === 1 && last === head_ordinal), "everything was asked for and this is a part"],
  ])
}

/** Whether a window comes behind another: by its start, then by its length. */
const isBehind = (window: ExportedWindow, before: ExportedWindow | undefined): boolean =>
  before === undefined ||
  before.window_start < window.window_start ||
  (before.window_start === window.window_start && before.window_seconds < window.window_seconds)
