/** Legal evidence and declarations: claims with their hashes, and whose word each part of the record is. */

import { type Bundle, receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { type DeclaredName, isShown } from "@runseal/core/artifacts/declared-sections"
import type { SectionName } from "@runseal/core/artifacts/sections"
import { type ReportClaim, reportClaimHash, reportCompileHash } from "@runseal/core/formulas/report-claims"
import { refusalBeforeFailure, refusingGate } from "@runseal/core/verify/stage-error"
import { member } from "@runseal/core/vocabulary/json-members"
import { type Gate, OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import type { Block, Span } from "@runseal/pdf/block"
import { declaredIn } from "../declared.ts"
import {
  count,
  countOf,
  densely,
  fact,
  facts,
  heading,
  line,
  mono,
  muted,
  onNewLine,
  readableTime,
  remark,
  table,
  unixTime,
} from "../spans.ts"
import { type Part, type Subject, wordsOf } from "../subject.ts"
import { sectionTable } from "./evidence-part.ts"

// The claims of the legal evidence section: each a sentence that this bundle supports, with the hashes that it rests on.

/** Who vouches for a claim. */
const BASES = {
  computed: "anyone who verifies: computed again from the bundle",
  decided: "the service: decided by its gates",
  declared: "the caller: declared, not verified",
  operator: "the operator of service and log",
} as const

type Claim = Omit<ReportClaim, "claim_id">
type Evidence = readonly (readonly [member: string, hash: string | undefined])[]

const claim = (basis: keyof typeof BASES, statement: string, evidence: Evidence): Claim => ({
  statement,
  basis: BASES[basis],
  evidence: evidence.flatMap(([name, hash]) => (hash === undefined ? [] : [{ member: name, hash }])),
})

/** The claims in the order of the run, as far as the bundle supports them. */
export function claimsOf(bundle: Bundle): readonly ReportClaim[] {
  const diagnosis = bundle.run.outcome_kind === "stage_error"
  const makers = diagnosis ? [refusal, ending, wholeRecord] : MAKERS
  return makers.flatMap(make => make(bundle) ?? []).map((made, i) => ({ claim_id: `C${i + 1}`, ...made }))
}

const request = ({ run, sections }: Bundle): Claim =>
  claim(
    "computed",
    `Run ${run.run_id} was requested with a payload of ${countOf(sections.payload.payload_bytes, "byte")}, for the program and the registry record that its envelope names.`,
    [
      ["sections.envelope", sections.envelope?.hash],
      ["sections.payload", sections.payload.hash],
    ],
  )

const policy = ({ sections: { policy_evaluation: evaluation }, allow_token: token }: Bundle): Claim | undefined =>
  evaluation &&
  claim(
    "decided",
    `The policy gate decided ${evaluation.decision} by ${evaluation.fired_rule_id}, with the reason ${evaluation.decision_reason_code}.`,
    [
      ["sections.policy_evaluation", evaluation.hash],
      ["allow_token", token?.hash],
    ],
  )

const kernels = ({ sections: { efa } }: Bundle): Claim | undefined => {
  if (efa === undefined) return undefined
  const findings = efa.kernels.flatMap(record => record.findings).reduce((sum, found) => sum + found.count, 0)
  return claim(
    "computed",
    `${countOf(efa.kernels.length, "kernel")} ran and recorded ${countOf(findings, "finding")}.`,
    [["sections.efa", efa.hash]],
  )
}

const budgets = ({ sections: { budget_snapshot: budget } }: Bundle): Claim | undefined => {
  if (budget === undefined) return undefined
  const run = `The budgets counted ${countOf(budget.declared_tokens, "declared token")}, with a limit of ${count(budget.run_limit)} for one run`
  const { window } = budget
  const charged =
    window === undefined
      ? "the tenant's window was not charged"
      : `the tenant's window holds ${count(window.total_after)} of ${count(window.cap)} tokens with this run`
  return claim("decided", `${run}; ${charged}.`, [["sections.budget_snapshot", budget.hash]])
}

const review = ({ sections: { governance_review: made } }: Bundle): Claim | undefined =>
  made &&
  claim(
    "decided",
    `The governance review by ${made.adapter_id} recorded ${made.decision_kind}, with the reason ${made.decision_reason}.`,
    [["sections.governance_review", made.hash]],
  )

/** How many items of a list the caller declared; no claim for none, or for a withheld section. */
const declaredCount =
  (name: DeclaredName, key: string, one: string) =>
  (bundle: Bundle): Claim | undefined => {
    const section = bundle.sections[name]
    if (!isShown(section)) return undefined
    const list = member(declaredIn(bundle, name), key)
    const found = Array.isArray(list) ? list.length : 0
    if (found === 0) return undefined
    return claim("declared", `The caller declared ${countOf(found, one)}.`, [[`sections.${name}`, section.hash]])
  }

const ending = (bundle: Bundle): Claim => {
  const { run, manifest } = bundle
  const found = receiptOf(bundle)
  // A step that failed is no decision of a gate.
  const basis = run.outcome_kind === "stage_error" ? "operator" : "decided"
  return claim(basis, OUTCOMES[run.outcome_kind].sentence, [
    ["manifest", manifest?.ManifestHash],
    [found?.key ?? "", found?.receipt.hash],
    ["bundle_hash", found === undefined && manifest === undefined ? bundle.bundle_hash : undefined],
  ])
}

/** Of a refused run whose sealing failed: the decision, with the section that holds it. */
const refusal = (bundle: Bundle): Claim | undefined => {
  const [gate, sentence] = [refusingGate(bundle), refusalBeforeFailure(bundle)]
  if (gate === undefined || sentence === undefined) return undefined
  const name = DECISION_SECTIONS[gate]
  return claim("decided", sentence, [[`sections.${name}`, bundle.sections[name]?.hash]])
}

/** The section with each gate's decision; only the receipt holds that of admission. */
const DECISION_SECTIONS = {
  PEPG_ADMISSION: "envelope",
  PEPG: "policy_evaluation",
  CCV: "budget_snapshot",
  MACC: "budget_snapshot",
  AIVP_T4: "governance_review",
} as const satisfies Readonly<Record<Gate, SectionName>>

const receiptEntry = (bundle: Bundle): Claim | undefined => {
  const { receipt: anchor } = bundle.anchors
  return (
    anchor &&
    claim("operator", `The receipt is entry ${anchor.entry.logIndex} of the log, ${logged(anchor.entry)}.`, [
      ["anchors.receipt.leaf", anchor.leaf.receipt_hash],
    ])
  )
}

const runEntry = ({ anchors: { pre_anchor: anchor }, sections }: Bundle): Claim | undefined =>
  anchor &&
  claim("operator", `The run is entry ${anchor.entry.logIndex} of the log, ${logged(anchor.entry)}.`, [
    ["sections.pote_proof", sections.pote_proof?.hash],
  ])

const wholeRecord = ({ anchors: { complete_record: anchor } }: Bundle): Claim | undefined =>
  anchor &&
  claim(
    "operator",
    `The whole record is entry ${anchor.entry.logIndex} of the log, ${logged(anchor.entry)}, as record ${count(anchor.leaf.tenant_ordinal)} of its tenant.`,
    [
      ["bundle_hash", anchor.leaf.bundle_hash],
      ["previous_record", anchor.leaf.previous_record],
    ],
  )

const logged = ({ integratedTime }: { readonly integratedTime: string }): string =>
  `logged ${readableTime(unixTime(integratedTime))}`

const MAKERS: readonly ((bundle: Bundle) => Claim | undefined)[] = [
  request,
  policy,
  kernels,
  budgets,
  review,
  declaredCount("authorization_chain", "approvers", "approver"),
  declaredCount("causal_graph", "effect_log", "effect"),
  ending,
  runEntry,
  receiptEntry,
  wholeRecord,
]

// The section, and whose word each part of the record is.

/** A hash that is made at render time, labelled so: the record does not hold it. */
const renderTime = (prefix: "claim:" | "compile:", hash: string): Span => mono(`${prefix}${hash}`)

export const legalEvidence: Part = subject => [
  heading(1, "Legal Evidence"),
  remark(
    "Claim hashes and the compile hash, marked claim: and compile:, are produced at render time and sealed nowhere. They cannot be recomputed with the open-source verifier; what a claim rests on can.",
  ),
  ...(wordsOf(subject).standing === "diagnosis"
    ? [remark("The record of a stage error is no attestation. Its claims are about the record alone.")]
    : []),
  ...claims(subject),
  heading(2, "Declarations"),
  ...declarations(),
  // Evidence and Checks has this table already.
  ...(subject.format === "legal" ? sectionTable(subject.bundle).map(densely) : []),
]

function claims({ bundle }: Subject): readonly Block[] {
  const made = claimsOf(bundle).map(claim => ({ ...claim, hash: reportClaimHash(bundle.bundle_hash, claim) }))
  const columns = [
    { title: "Claim", share: 6 },
    { title: "Statement, whose word it is, what it rests on, claim hash", share: 94 },
  ]
  const rows = made.map(({ claim_id, statement, basis, evidence, hash }) => [
    line(claim_id),
    line(
      statement,
      onNewLine(muted(`${basis}; rests on ${evidence.map(({ member }) => member).join(", ")}`)),
      onNewLine(renderTime("claim:", hash)),
    ),
  ])
  const hashes = made.map(({ hash }) => hash)
  return [
    ...table("Claims", columns, rows),
    ...facts([fact("Compile hash", renderTime("compile:", reportCompileHash(bundle.bundle_hash, hashes)))]),
  ]
}

const VOUCHED: readonly (readonly [what: string, who: string])[] = [
  ["Hashes, manifest, kernel outputs, transcript, arithmetic of budgets", BASES.computed],
  ["Policy decision, signature scan, what a reviewer decided", BASES.decided],
  ["Admission clock, duration, region, provenance, earlier charges, log time", BASES.operator],
  ["Everything under a declared section", BASES.declared],
]

/** Whose word each part of a record is. */
function declarations(): readonly Block[] {
  const columns = [
    { title: "Part of the record", share: 60 },
    { title: "Whose word it is", share: 40 },
  ]
  return table(
    "Whose word",
    columns,
    VOUCHED.map(([what, who]) => [line(what), line(who)]),
  )
}
