/** An outcome as a small label. */
import type { RunSummary } from "@runseal/core/wire/run-summaries"
import { html, type Markup } from "./markup.ts"
import { marksOf, OUTCOME_NAMES, SIGNS, toneOf } from "./outcome-names.ts"

export const outcomeLabel = (run: Pick<RunSummary, "outcome_kind" | "enforcement" | "closing_outcome">): Markup => {
  const tone = toneOf(run.outcome_kind)
  return html`<span class="labels"><span class="label ${tone}"><span aria-hidden="true">${SIGNS[tone]}</span> ${OUTCOME_NAMES[run.outcome_kind]}</span>${marksOf(run).map(mark => html` <span class="label ${mark.tone}">${mark.text}</span>`)}</span>`
}
