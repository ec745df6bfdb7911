/** The permit that a run closed: when the act was permitted, what became of it, what was reserved and what was used. */

import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { isShown } from "@runseal/core/artifacts/declared-sections"
import type { PermitUseSection } from "@runseal/core/artifacts/permit-sections"
import { failureText, refusedCloseText } from "@runseal/core/presentation/permit-account"
import { bundleFacts } from "@runseal/core/verify/record-facts"
import type { Line } from "@runseal/pdf/block"
import { countOf, type Fact, fact, facts, line, mono, muted, remark, timeOr } from "../spans.ts"
import type { Part } from "../subject.ts"

/** The act as the caller reported it: "completed", or why it failed. */
export const actText = ({ code }: Pick<PermitUseSection, "code">): string =>
  code === undefined ? "completed" : `failed: ${failureText(code)}`

/** The same for the head of a report; none for a run that closed no permit. */
export const actFacts = ({ sections: { permit } }: Bundle): readonly Fact[] =>
  permit === undefined
    ? []
    : [
        fact(
          "Act, as reported",
          line({ text: actText(permit), ...(permit.code === undefined ? {} : { style: "bold", tone: "bad" }) }),
        ),
      ]

/** Whether the run closed a permit whose act failed. */
export const actFailed = ({ sections: { permit } }: Pick<Bundle, "sections">): boolean => permit?.outcome === "failed"

/** When the act was permitted, reported and closed. */
export function permitSentence(bundle: Bundle): Line {
  const { permit, envelope } = bundle.sections
  if (permit === undefined || envelope === undefined) return []
  const { opening_log_index, closed_clock } = permit
  const permitted = `It was permitted on ${envelope.admission_clock} (log entry ${opening_log_index}); `
  const refused = refusedCloseText(bundle.run.outcome_kind, bundleFacts(bundle))
  const act = `the caller reported the act as ${actText(permit)}; the run was closed on ${closed_clock}. `
  return line(permitted, act, refused === undefined ? "" : `${refused} `)
}

const WHOSE_WORD =
  "What became of the act is the caller's report: the service was not there. That the opening was logged before the close follows from the log; that it was before the act, only from a witness or a timestamp."

export const permitPart: Part = ({ bundle }) => {
  const { permit, closing, envelope, budget_snapshot: budget } = bundle.sections
  if (budget?.purpose === "reservation")
    return [
      remark("This run is the opening of a permit, which was refused: nothing was reserved and nothing was permitted."),
    ]
  if (permit === undefined || envelope === undefined) return []
  const { reserved = 0, tokens = 0 } = budget?.window ?? {}
  const { redemption } = permit
  return [
    remark(WHOSE_WORD),
    ...facts([
      fact("Permit", mono(permit.permit_id)),
      fact("Permitted at", timeOr(envelope.admission_clock)),
      fact("Opening", line("log entry ", mono(permit.opening_log_index))),
      fact("Redeemed", redemption === undefined ? muted("no") : timeOr(redemption.redeemed_clock)),
      ...actFacts(bundle),
      fact("Closed at", timeOr(permit.closed_clock)),
      fact("Reserved", countOf(reserved, "token")),
      fact("Used", countOf(tokens, "token")),
    ]),
    ...(closing !== undefined && !isShown(closing)
      ? [
          remark(
            "The section closing is withheld: what the close declares is not shown, and only its hash can be checked.",
          ),
        ]
      : []),
  ]
}
