/** An outcome as a small label. */
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { html, type Markup } from "./markup.ts"
import { OUTCOME_NAMES, SIGNS, toneOf } from "./outcome-names.ts"

export const outcomeLabel = (kind: OutcomeKind): Markup => {
  const tone = toneOf(kind)
  return html`<span class="label ${tone}"><span aria-hidden="true">${SIGNS[tone]}</span> ${OUTCOME_NAMES[kind]}</span>`
}
