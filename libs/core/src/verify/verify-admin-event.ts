/** Verifies an action of an administrator. docs/formats.md section 7.10. */
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { AdminEvent } from "../artifacts/admin-event.ts"
import { ADMIN_EVENT_FORM } from "../formulas/chain-forms.ts"
import { checkAnchor, chooseTrust, passedEntry } from "./anchor-check.ts"
import { brokenRules } from "./contradictions.ts"
import { collectFindings, conclude } from "./examination.ts"
import { eventFactsOf } from "./record-facts.ts"
import { chainRules, tenantRule } from "./record-places.ts"
import { limitation, type Report, VERDICTS } from "./report.ts"

/** Verifies an event whose shape is known to be right, against keys from outside it. Never throws. */
export function verifyAdminEvent(event: AdminEvent, trusts: readonly TrustedKeys[]): Report {
  const { leaf, entry, who, event_clock, seal_clock, event_hash } = event
  const findings = collectFindings()
  const examination = { trust: chooseTrust(entry, trusts), findings }
  const isKey = who.actor.startsWith("api-key-")
  findings.fail(
    "decision",
    ...brokenRules([
      [isKey === (who.name !== undefined), "a key, and no other, has a name"],
      [event_clock <= seal_clock, "the action is dated after it was sealed"],
    ]),
  )
  findings.fail(
    "leaf",
    ...brokenRules([
      [ADMIN_EVENT_FORM.hash(event) === event_hash, "the event does not match its hash"],
      [leaf.event_hash === event_hash, "the anchored leaf names another event"],
      tenantRule(event, leaf),
    ]),
  )
  checkAnchor({ leaf, entry }, { leaf, clock: seal_clock }, examination)
  findings.fail("inclusion", ...brokenRules(chainRules(leaf, entry)))
  return conclude(examination, {
    document: "admin_event",
    good: VERDICTS.admin_event,
    passed: {
      shape: "kinds and fields of the event are as they must be",
      decision: "who acted is named as such an actor is, and the action is not later than its seal",
      leaf: "the event and the deployment's chain are those of the anchored leaf",
      ...passedEntry(entry),
      log_time: "logged within 600 s of the time at which it was sealed",
    },
    clock: seal_clock,
    facts: eventFactsOf(event),
    withheld: [],
    limitations: [limitation("operator_log"), limitation("event_clock"), limitation("chain_tail")],
    anchors: [{ slot: "admin_event", anchor: { leaf, entry } }],
  })
}
