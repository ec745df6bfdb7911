/** Legal evidence and declarations: claims with their hashes, and whose word each part of the record is. */
import { reportClaimHash, reportCompileHash } from "@runseal/core/formulas/report-claims"
import type { Block, Span } from "@runseal/pdf/block"
import { densely, fact, facts, heading, line, mono, muted, onNewLine, remark, table } from "../spans.ts"
import { type Part, type Subject, wordsOf } from "../subject.ts"
import { BASES, claimsOf } from "./claims.ts"
import { sectionTable } from "./evidence-part.ts"

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
