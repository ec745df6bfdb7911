/** Verifies the statement at the head of an export, without the records. docs/formats.md section 7.7. */

import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { ExportStatementLeaf } from "../artifacts/anchor.ts"
import { chainPiece, type ExportStatement } from "../artifacts/export-statement.ts"
import { tenantCommitment } from "../formulas/decision.ts"
import { ZERO_HASH } from "../vocabulary/scalars.ts"
import { checkAnchor, chooseTrust, FIRST_ANCHOR_IDS } from "./anchor-check.ts"
import { anchorFact } from "./bundle.ts"
import { withKeyNotes } from "./key-notes.ts"
import type { Report } from "./report.ts"
import { collectFindings, limitation, VERDICTS } from "./report.ts"

/** Verifies a statement against keys from outside it. Never throws. */
export function verifyExportStatement(statement: ExportStatement, trusts: readonly TrustedKeys[]): Report {
  const findings = collectFindings()
  const { tenant_id, tenant_salt, leaf, entry } = statement
  const trust = chooseTrust(entry, trusts)
  for (const problem of contradictions(leaf)) findings.fail("shape", problem)
  const room = Number(entry.logIndex) > leaf.head_ordinal
  findings.require(
    "shape",
    room,
    `before log entry ${entry.logIndex} there is no room for ${leaf.head_ordinal} records`,
  )
  const opens = tenantCommitment(tenant_id, tenant_salt) === leaf.tenant_commitment
  findings.require("leaf", opens, "tenant and salt are not those of the leaf")
  checkAnchor({ leaf, entry }, { leaf, clock: leaf.export_clock, ids: FIRST_ANCHOR_IDS }, trust, findings)
  const checks = findings.checks({
    shape: "the statement does not contradict itself",
    leaf: "tenant and salt open the anchored leaf's commitment",
    entry: `log entry ${entry.logIndex} holds the leaf, signed by the service`,
    inclusion: "inclusion proof, checkpoint and timestamp are the log's",
    log_time: "logged within 600 s of the statement's clock",
  })
  const failed = checks.find(check => check.result === "fail")
  const report: Report = {
    document: "export_statement",
    verdict: failed === undefined ? VERDICTS.export_statement : VERDICTS.failed,
    ...(failed === undefined ? {} : { first_failure: failed.id }),
    checks,
    ...(trust === undefined ? {} : { service: trust.service }),
    clock: leaf.export_clock,
    withheld: [],
    limitations: [limitation("operator_log"), limitation("statement_alone"), limitation("second_chain")],
    anchors: [anchorFact("export_statement", { leaf, entry })],
  }
  return withKeyNotes(report, [{ leaf, entry }], trust)
}

/** What cannot be true of any chain, whatever records it holds. */
function contradictions(leaf: ExportStatementLeaf): readonly string[] {
  const { head_ordinal, head, from, to } = leaf
  const problems: string[] = []
  const require = (holds: boolean, problem: string): void => {
    if (!holds) problems.push(problem)
  }
  require((head_ordinal === 0) === (head === ZERO_HASH), "a chain has an end exactly when it has records")
  require(from === undefined || to === undefined || from <= to, "the time asked for ends before it begins")
  const piece = chainPiece(leaf)
  const everything = from === undefined && to === undefined
  if (piece === undefined) {
    const { first_ordinal, last_ordinal, previous_record, last_record } = leaf
    const facts = [first_ordinal, last_ordinal, previous_record, last_record]
    require(facts.every(
      fact => fact === undefined,
    ), "of first and last ordinal, predecessor and last record some are there and some are not")
    require(!everything || head_ordinal === 0, "everything was asked for and no record is in it")
    return problems
  }
  const { first_ordinal: first, last_ordinal: last, previous_record, last_record } = piece
  require(first <= last && last <= head_ordinal, "first, last and end of the chain are not in this order")
  require((first === 1) === (previous_record === ZERO_HASH), "the first of a chain, and no other, has no predecessor")
  require((last === head_ordinal) === (last_record === head), "the last record is the end of the chain, or it is not")
  require(![last_record, head].includes(
    previous_record,
  ), "the record before the piece is given as one of it, or as the end")
  require(last_record !== ZERO_HASH, "the last record has no digest")
  require(!everything || (first === 1 && last === head_ordinal), "everything was asked for and this is a part")
  return problems
}
