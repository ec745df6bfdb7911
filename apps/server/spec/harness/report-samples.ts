/** Bundles sealed with core's formulas alone, and what the service would know of them when it makes a report. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { isUnreadable, verifyDocument } from "@runseal/core/verify/document"
import type { Report as Verification } from "@runseal/core/verify/report"
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import type { Block, Line, Report, Span } from "@runseal/pdf/block"
import { type Deployment, makeDeployment, sealRun } from "../../../../libs/core/test/fixtures/deployment.ts"
import { type CloseSpec, closePermit, openPermit } from "../../../../libs/core/test/fixtures/permits.ts"
import type { RunSpec } from "../../../../libs/core/test/fixtures/run-spec.ts"
import type { ReportContext } from "../../src/report/subject.ts"

const reportDeployment: Deployment = makeDeployment({ signatures: "rfc6979" })

/** The record of a close in a deployment of its own. */
export function closed(spec: CloseSpec = {}): Bundle {
  const deployment = makeDeployment()
  return closePermit(deployment, openPermit(deployment), spec).bundle
}

/** The bundle of a run that ended so. */
export const sealed = (outcome: OutcomeKind, spec: Omit<RunSpec, "outcome"> = {}): Bundle =>
  sealRun(reportDeployment, { outcome, ...spec }).bundle

function verified(bundle: Bundle): Verification {
  const report = verifyDocument(JSON.parse(JSON.stringify(bundle)), [reportDeployment.trust])
  if (isUnreadable(report)) throw new Error(report.unreadable)
  return report
}

/** The service's side of a report on this bundle, verified as it is. */
export const contextOf = (bundle: Bundle, facts: Partial<ReportContext> = {}): ReportContext => ({
  base_url: "https://runs.example.com",
  key_valid_from: reportDeployment.trust.serviceKeys[0]?.validFrom ?? 0,
  engine_version: "runseal-verify-1.0.0",
  verification: verified(bundle),
  ...facts,
})

/** Every line of a block, with its titles and labels as lines. */
export function linesOf(block: Block): readonly Line[] {
  const plain = (...texts: readonly string[]): readonly Line[] => texts.map(text => [{ text }])
  switch (block.kind) {
    case "cover":
      return [...plain(block.title, block.subtitle, block.verdict), ...factLines(block.facts)]
    case "heading":
      return plain(block.text)
    case "paragraph":
      return [block.line]
    case "list":
      return block.items
    case "callout":
      return [...plain(block.title), ...block.lines]
    case "facts":
      return factLines(block.rows)
    case "table":
      return [...plain(block.caption), ...block.columns.flatMap(({ title }) => plain(title)), ...block.rows.flat()]
    case "timeline":
      return plain(block.alternative)
    case "gauge":
      return plain(block.label)
  }
}

const factLines = (rows: readonly { readonly label: string; readonly value: Line }[]): readonly Line[] =>
  rows.flatMap(({ label, value }) => [[{ text: label }], value])

export const textOf = (line: readonly Span[]): string => line.map(({ text }) => text).join("")
/** All text of a report's blocks, a line of it a line. */
export const reportText = ({ blocks }: Pick<Report, "blocks">): string => blocks.flatMap(linesOf).map(textOf).join("\n")
