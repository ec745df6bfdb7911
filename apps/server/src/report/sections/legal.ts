/** Legal evidence and declarations: claims with their hashes, and whose word each part of the record is. */
import type { DeclaredSection } from "@runseal/core/artifacts/declared-sections"
import { DECLARED_NAMES, isShown } from "@runseal/core/artifacts/declared-sections"
import { reportClaimHash, reportCompileHash } from "@runseal/core/formulas/report-claims"
import { countValues } from "@runseal/core/kernels/kernel"
import type { RENDER_TIME_PREFIXES } from "@runseal/core/report-pdf/printed-hashes"
import type { Block, Line, Span } from "@runseal/pdf/block"
import { countOf, fact, facts, heading, line, mono, muted, remark, table } from "../spans.ts"
import { type Part, type Subject, wordsOf } from "../subject.ts"
import { BASES, claimsOf } from "./claims.ts"

/** A hash that is made at render time, labelled so: the verifier does not take it for one of the record. */
const renderTime = (prefix: (typeof RENDER_TIME_PREFIXES)[number], hash: string): Span => mono(`${prefix}${hash}`)

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
  ...declarations(subject),
]

function claims({ bundle }: Subject): readonly Block[] {
  const made = claimsOf(bundle).map(claim => ({ ...claim, hash: reportClaimHash(bundle.bundle_hash, claim) }))
  const columns = [
    { title: "Claim", share: 6 },
    { title: "Statement", share: 28 },
    { title: "Whose word, and what it rests on", share: 25 },
    { title: "Claim hash", share: 41 },
  ]
  const rows = made.map(({ claim_id, statement, basis, evidence, hash }) => [
    line(claim_id),
    line(statement),
    line(`${basis}; `, muted(`rests on ${evidence.map(({ member }) => member).join(", ")}`)),
    line(renderTime("claim:", hash)),
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

function declarations({ bundle }: Subject): readonly Block[] {
  const whose = [
    { title: "Part of the record", share: 55 },
    { title: "Whose word it is", share: 45 },
  ]
  const sections = [
    { title: "Declared section", share: 28 },
    { title: "Content", share: 17 },
    { title: "Hash", share: 55 },
  ]
  return [
    ...table(
      "Whose word",
      whose,
      VOUCHED.map(([what, who]) => [line(what), line(who)]),
    ),
    ...table(
      "Declared sections",
      sections,
      DECLARED_NAMES.map(name => {
        const section = bundle.sections[name]
        return [line(mono(name)), content(section), line(mono(section.hash))]
      }),
    ),
  ]
}

const content = (section: DeclaredSection): Line => {
  if (!isShown(section)) return line({ text: "withheld", tone: "warn" })
  return section.declared === undefined ? line(muted("nothing")) : line(countOf(countValues(section.declared), "value"))
}
