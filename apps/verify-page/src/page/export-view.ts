/** The result of an export as the page shows it: verdict, problems, statement, limitations. */
import { MARKS } from "@runseal/core/presentation/account"
import { NOT_TRUSTED } from "@runseal/core/presentation/advice"
import {
  type AccountRow,
  exportTitle,
  noteTexts,
  omittedText,
  passedRows,
  problemText,
  statementRows,
  type WindowTable,
  windowTables,
} from "@runseal/core/presentation/completeness-account"
import { COMPLETENESS_VERDICTS, type Completeness } from "@runseal/core/verify/completeness"
import { element, facts, list, type Piece, paragraphs, section } from "./elements.ts"
import type { Believed } from "./page-trust.ts"
import { HOW_TO_LOAD } from "./report-view.ts"

export function exportPieces(found: Completeness, believed: Believed): readonly Piece[] {
  const { verdict, untrusted, statement, service, problems, limitations } = found
  const failed = verdict === COMPLETENESS_VERDICTS.failed
  const omitted = omittedText(found)
  const sameAddress = service !== undefined && believed.from === "service" ? ", as this address publishes them" : ""
  return [
    ...(untrusted === undefined ? [] : [element("h2", "outcome warn", NOT_TRUSTED)]),
    element(
      untrusted === undefined ? "h2" : "p",
      `verdict ${failed ? "bad" : "good"}`,
      `${failed ? MARKS.fail : MARKS.pass} ${verdict}`,
    ),
    element("p", "", `${exportTitle(found)}${sameAddress}.`),
    ...section("Problems", ...list([...problems.map(problemText), ...(omitted === undefined ? [] : [omitted])])),
    ...(statement !== undefined && service === undefined ? section("What to do", ...paragraphs(HOW_TO_LOAD)) : []),
    ...section("Checked", ...checks(passedRows(found))),
    ...section("Statement", ...(statement === undefined ? [] : facts(statementRows(statement)))),
    ...section("Budgets", ...windowTables(found).map(windowPiece)),
    ...section("Changed on the way", ...list(noteTexts(found))),
    ...section("Not shown by this", ...list(limitations.map(({ sentence }) => sentence))),
  ]
}

/** A budget window: its heading, and its movements for who opens it. */
const windowPiece = ({ heading, rows }: WindowTable): HTMLElement =>
  element("details", "", element("summary", "", heading), ...list(rows))

const checks = (rows: readonly AccountRow[]): readonly Piece[] =>
  rows.length === 0 ? [] : [element("ul", "checks", ...rows.map(passed))]

function passed({ label, value }: AccountRow): HTMLElement {
  const mark = element("span", "mark", MARKS.pass)
  mark.setAttribute("aria-hidden", "true")
  const name = element("code", "", label, element("span", "unseen", " passed: "))
  return element("li", "pass", mark, name, element("span", "sentence", value))
}
