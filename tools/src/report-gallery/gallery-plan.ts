/** Which example reports there are, and what their pages are called. */
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { REPORT_FORMATS, type ReportFormat } from "@runseal/core/wire/runs"

export type Exhibit = { readonly outcome: OutcomeKind; readonly format: ReportFormat }

/** The formats in which a run of the outcome is shown. */
const formatsOf = (outcome: OutcomeKind): readonly ReportFormat[] =>
  outcome === "ok" ? REPORT_FORMATS : ["brief", "comprehensive"]

/** Every outcome in brief and comprehensive, a completed run in all four formats. */
export const EXHIBITS: readonly Exhibit[] = OUTCOME_KINDS.flatMap(outcome =>
  formatsOf(outcome).map(format => ({ outcome, format })),
)

/** Folder of the gallery, from the repository's root. */
export const GALLERY = "docs/report"

export const exhibitName = ({ outcome, format }: Exhibit): string => `${outcome}-${format}`

/** The page that shows the gallery. */
export function galleryPage(
  pages: readonly { readonly exhibit: Exhibit; readonly files: readonly string[] }[],
): string {
  const shown = pages.flatMap(({ exhibit, files }) => [
    `## ${exhibit.outcome}, ${exhibit.format}`,
    "",
    ...files.map(
      (file, i) =>
        `![page ${i + 1} of the ${exhibit.format} report of a run that ended as ${exhibit.outcome}](${file})`,
    ),
    "",
  ])
  return [
    "# Example reports",
    "",
    "Reports of the runs of `npm run demo`: every outcome in brief and comprehensive, a completed run in all four formats. `npm run gallery`",
    "makes them anew; it needs `pdftoppm` (poppler-utils). What stands in a report: [report.md](../report.md).",
    "",
    ...shown,
  ].join("\n")
}
